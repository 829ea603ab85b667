"""Settings of the serving path; times in seconds."""

from __future__ import annotations

import math

import msgspec

from omni_ipc.errors import UsageError


class ServingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of every wait in the engine process.

    Args:
        output_timeout_s: how long a consumer waits for its output once it has asked for it; a render may queue behind
            minutes of device work.
        rpc_timeout_s: how long the dispatcher waits for "compute done".
        shutdown_timeout_s: how long a shutdown waits for the worker's goodbye before it goes on without.
        poll_s: how often the pump, when idle, looks whether the worker still lives.
    """

    output_timeout_s: float = 600.0
    rpc_timeout_s: float = 600.0
    shutdown_timeout_s: float = 10.0
    poll_s: float = 0.1

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name}={value} is no usable time. Give a finite number of seconds above 0.")
