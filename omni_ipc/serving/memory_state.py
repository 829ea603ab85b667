"""Whether the pipeline has its device memory: awake, asleep, or left in between by an error.

            sleep(level)                     raises
AWAKE ───────────────────────► ASLEEP     ──────────► BROKEN ── wake() ──► AWAKE
      ◄───────────────────────            from either
               wake()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omni_ipc.errors import UsageError
from omni_ipc.serving.forks import staying
from omni_ipc.serving.pipeline import Pipeline, Sleeping

LEVELS = (1, 2)


class MemoryState:
    """Lets a pipeline sleep and wake, and says what it may be asked for in between; used by the main loop alone.

    Args:
        drain: called with what is about to be done, before anything frees or takes memory; raises to prevent it.
    """

    def __init__(self, pipeline: Pipeline, drain: Callable[[str], None]) -> None:
        self._pipeline = pipeline
        self._drain = drain
        self._level = 0  # that it sleeps at; 0 is awake
        self._broken = ""  # what was tried, and why it failed half-way

    def require_awake(self) -> None:
        """Let nothing compute in memory that was given back.

        Raises:
            UsageError: the pipeline sleeps, or is neither asleep nor awake.
        """
        if self._broken:
            raise UsageError(
                f"{self._broken}, so the pipeline is neither asleep nor awake. Call wake(), or start anew."
            )
        if self._level:
            raise UsageError(
                f"The pipeline sleeps at level {self._level}: its memory was given back. Call wake() first."
            )

    def sleep(self, level: int = 1) -> None:
        """Give device memory back; nothing is done if it sleeps at that level already.

        Raises:
            UsageError: there is no such level, or the pipeline cannot sleep now, or never can.
            StillInFlight: outputs are; nothing was given back.
        """
        if level not in LEVELS:
            raise UsageError(f"There is no level {level!r} of sleep. Give 1 (weights stay on the host) or 2 (dropped).")
        if level == self._level and not self._broken:
            return
        self.require_awake()
        self._change(f"sleep(level={level})", level, lambda pipeline: pipeline.sleep(level))

    def wake(self) -> None:
        """Take device memory again; nothing is done if the pipeline is awake.

        Raises:
            StillInFlight: see `sleep`.
        """
        if self._level or self._broken:
            self._change("wake()", 0, lambda pipeline: pipeline.wake())

    def _change(self, what: str, level: int, change: Callable[[Sleeping], Any]) -> None:
        if not isinstance(self._pipeline, Sleeping):
            raise UsageError(
                f"{type(self._pipeline).__name__} cannot sleep. Give it the methods sleep(level) and wake()."
            )
        self._drain(what)
        try:
            staying(change)(self._pipeline)
        except BaseException as error:
            self._broken = f"{what} failed half-way ({type(error).__name__}: {error})"
            raise
        self._level, self._broken = level, ""
