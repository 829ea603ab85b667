"""Settings of the serving path; times in seconds."""

from __future__ import annotations

from typing import cast

import msgspec

from omni_ipc.errors import UsageError

LONGEST_S = 1_000_000.0
"""Eleven days. What waits in the operating system's words overflows at 24 days, or at 292 years."""


def require_time(name: str, seconds: object) -> None:
    """Let nothing be waited for that long.

    Raises:
        UsageError: it is no time, or one that cannot be waited.
    """
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not (number and 0 < cast("float", seconds) <= LONGEST_S):
        raise UsageError(
            f"{name}={seconds!r} is no usable time. Give a finite number of seconds above 0, {LONGEST_S:,.0f} at most."
        )


class ServingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of every wait in the engine process.

    Args:
        output_timeout_s: how long a consumer waits for its output once it has asked for it; a render may queue behind
            minutes of device work. The environment variable OMNI_IPC_OUTPUT_TIMEOUT goes before it.
        rpc_timeout_s: how long the dispatcher waits for "compute done", and a call for its answers.
        drain_timeout_s: how long a worker waits for its outputs before it gives memory back; below the output timeout,
            so that a wedged worker cannot hold a call past the moment at which the engine gives up.
        shutdown_timeout_s: how long a shutdown waits for the workers' goodbye before it goes on without.
        rank_grace_s: how long the other ranks may take to answer once one has failed: they may hang with it.
        pump_timeout_s: how long the pump may be busy with one message before it counts as stuck.
        poll_s: how often the pump, when idle, looks whether the workers still live.
        step_execution: step by step, with the outputs in the answers: nothing is asynchronous, and there is no pump.
    """

    output_timeout_s: float = 600.0
    rpc_timeout_s: float = 600.0
    drain_timeout_s: float = 10.0
    shutdown_timeout_s: float = 10.0
    rank_grace_s: float = 5.0
    pump_timeout_s: float = 30.0
    poll_s: float = 0.1
    step_execution: bool = False

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if name.endswith("_s"):
                require_time(name, getattr(self, name))
        if not isinstance(self.step_execution, bool):
            raise UsageError(f"step_execution={self.step_execution!r} is neither True nor False. Give one of them.")
        if self.drain_timeout_s >= self.output_timeout_s:
            raise UsageError(
                f"drain_timeout_s={self.drain_timeout_s:g} is not below output_timeout_s={self.output_timeout_s:g}: "
                "a worker that drains would outlast whoever waits for its outputs. "
                "Set drain_timeout_s to a smaller value, or output_timeout_s to a larger one."
            )
