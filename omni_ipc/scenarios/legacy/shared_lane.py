"""One ring with two writers: each reads the write position, writes there and moves it, as if it were alone."""

from __future__ import annotations

from typing import Any, TypeVar

from omni_ipc.transport.channel import LaneSender
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.writer import LaneWriter

M = TypeVar("M")


class SecondWriter(LaneWriter):
    """Attaches to a lane that has a writer, which the lane of today refuses."""

    def _sign(self, lane: Lane) -> None:
        return


class SharingSender(LaneSender[M]):
    """Sends on the lane of another sender; its own lane it only closes.

    Args:
        other: whose lane it writes to.
        own: the sender of the lane that it should have written to.
    """

    def __init__(self, *, other: LaneSender[M], own: LaneSender[M]) -> None:
        writer = other._writers[0]
        second = SecondWriter(writer.lane, doorbell=writer._doorbell)
        super().__init__(second, timeout=other._timeout)
        self._own, self._unused = own, own._writers
        own._writers, own._slab = (second,), None

    def send(self, message: M, payload: Any = None) -> None:
        self._own.send(message, payload)  # whoever listens to that one hears of it

    def close(self) -> None:
        self._own._writers = self._unused
        self._own.close()
