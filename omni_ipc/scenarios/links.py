"""Links inside one runtime: a queue that keeps messages whole, for scenarios that do not look into the lane."""

from __future__ import annotations

import queue
from collections import deque
from typing import Any, Generic, TypeVar

from omni_ipc.errors import PeerClosed, Timeout
from omni_ipc.seam.api import Queue, Runtime

M = TypeVar("M")


class Packet(Generic[M]):
    """A message and what was sent beside it."""

    def __init__(self, message: M, payload: Any) -> None:
        self.message = message
        self._payload = payload

    def unpack(self) -> Any:
        return self._payload


class QueueLink(Generic[M]):
    """The reading end of a link with any number of writers.

    Attributes:
        in_flight: what was sent and not yet received.
        last: what was received last.
    """

    def __init__(self, *, rt: Runtime) -> None:
        self.in_flight: deque[M] = deque()
        self.last: M | None = None
        self._queue = rt.queue()
        self._open = 0

    def writer(self) -> QueueWriter[M]:
        """Make a writing end; the link is closed when all of them are."""
        self._open += 1
        return QueueWriter(self._queue, self.in_flight)

    def receive(self, timeout: float) -> Packet[M]:
        while self._open > 0:
            try:
                packet: Packet[M] | None = self._queue.get(timeout=timeout)
            except queue.Empty:
                raise Timeout(f"Nothing came within {timeout:g} s. Wait longer, or look at the worker.") from None
            if packet is not None:
                self.last = self.in_flight.popleft()
                return packet
            self._open -= 1
        raise PeerClosed("Every writer has closed the link, or its reader has.")

    def close(self) -> None:
        self._open = 0
        self._queue.put(None)


class QueueWriter(Generic[M]):
    """A writing end; ``in_flight`` is what all of them have sent and nobody has received."""

    def __init__(self, shared: Queue[Packet[M] | None], in_flight: deque[M]) -> None:
        self._queue = shared
        self.in_flight = in_flight

    def send(self, message: M, payload: Any = None) -> None:
        self.in_flight.append(message)
        self._queue.put(Packet(message, payload))

    def close(self) -> None:
        self._queue.put(None)
