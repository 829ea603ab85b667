"""A queue of slots for pickled messages, and a socket for what is larger than a slot.

    send ─► pickle ─┬─ fits ─────────► slot ──────────────► receive
                    └─ is larger ─┬──► slot: "look there" ─► receive ─┐
                                  └──► socket: the payload ───────────┴─► receive waits for it

Slot and payload are two messages on two ways, and nothing says which belong together.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Generic, TypeVar

from omni_ipc.errors import PeerClosed, Timeout
from omni_ipc.scenarios.legacy.pickling import INLINE_BYTES, Pickled, dumps, loads
from omni_ipc.scenarios.legacy.pubsub import Socket
from omni_ipc.scenarios.links import Packet
from omni_ipc.seam.api import Queue, Runtime

M = TypeVar("M")
T = TypeVar("T")

SLOT_BYTES = 24 << 20

_ELSEWHERE = Pickled(b"", ())  # a slot whose payload goes by the socket
_GOODBYE = None

_Slot = Pickled | None


class PickledQueue(Generic[M]):
    """The reading end, of any number of writers.

    Args:
        overflow: takes what is larger than a slot.
        slot_bytes: what a slot holds.
        inline_bytes: what an array may show and still be pickled with its message.
        pause_s: how long a writer takes from the slot to the payload.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        overflow: Socket[Pickled],
        slot_bytes: int = SLOT_BYTES,
        inline_bytes: int = INLINE_BYTES,
        pause_s: float = 0.0,
    ) -> None:
        self._rt = rt
        self._slots: Queue[_Slot] = rt.queue()
        self._overflow = overflow
        self._slot_bytes = slot_bytes
        self._inline_bytes = inline_bytes
        self._pause_s = pause_s
        self._open = 0

    def writer(self) -> PickledWriter[M]:
        """Make a writing end; the queue is closed when all of them are."""
        self._open += 1
        return PickledWriter(self)

    def receive(self, timeout: float) -> Packet[M]:
        deadline = self._rt.now() + timeout
        while self._open > 0:
            slot = self._slot(deadline)
            if slot is not _GOODBYE:
                return Packet(*loads(self._payload(deadline) if slot is _ELSEWHERE else slot))
            self._open -= 1
        raise PeerClosed("Every writer has closed the queue, or its reader has.")

    def _slot(self, deadline: float) -> _Slot:
        def take(timeout: float) -> _Slot:
            try:
                return self._slots.get(timeout=timeout)
            except queue.Empty:
                raise Timeout(f"Nothing came within {timeout:g} s. Wait longer, or look at the worker.") from None

        return self._take("lane", self._slots.empty, take, deadline)

    def _payload(self, deadline: float) -> Pickled:
        """Wait for the payload of a slot that was taken; it is nobody's if this times out."""
        return self._take("socket", self._overflow.is_empty, self._overflow.receive, deadline)

    def _take(self, way: str, is_empty: Callable[[], bool], take: Callable[[float], T], deadline: float) -> T:
        """Take what is there, or comes in time: with time to wait that is no look, and so no step of the model.

        Spec: ReaderLook, ReaderTake
        """
        if (left := deadline - self._rt.now()) > 0:
            return take(left)
        with self._rt.region("Reader.Look", way=way):
            if is_empty():
                return take(0.0)  # which says that there is nothing
        with self._rt.region("Reader.Take", way=way):
            return take(0.0)

    def close(self) -> None:
        self._open = 0
        self._slots.put(_GOODBYE)


class PickledWriter(Generic[M]):
    """A writing end."""

    def __init__(self, reader: PickledQueue[M]) -> None:
        self._reader = reader

    def send(self, message: M, payload: object = None) -> None:
        """Fill a slot, and with a large message the socket, too.

        Spec: WriterPublish
        """
        reader = self._reader
        pickled = dumps((message, payload), reader._inline_bytes)
        fits = pickled.wire_bytes <= reader._slot_bytes
        self._claim("lane")
        with reader._rt.region("Writer.Publish", way="lane"):
            reader._slots.put(pickled if fits else _ELSEWHERE)
        if fits:
            return
        if reader._pause_s:
            reader._rt.sleep(reader._pause_s)
        self._claim("socket")
        with reader._rt.region("Writer.Publish", way="socket"):
            reader._overflow.publish(pickled)

    def _claim(self, way: str) -> None:
        """Find room: there are slots for everything, and a socket takes all that comes.

        Spec: WriterClaim
        """
        with self._reader._rt.region("Writer.Claim", way=way):
            return

    def close(self) -> None:
        self._reader._slots.put(_GOODBYE)
