"""A lane and a port that speak structs with trees of arrays beside them: what serving sends and receives."""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

import msgspec

from omni_ipc.errors import PeerClosed
from omni_ipc.transport import wire
from omni_ipc.transport.assembly import Message
from omni_ipc.transport.broadcast import publish
from omni_ipc.transport.layout import Kind
from omni_ipc.transport.loan import Loan
from omni_ipc.transport.packing import Packed, split, unpack
from omni_ipc.transport.placing import Placement
from omni_ipc.transport.port import Port
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.tensor import Tensor
from omni_ipc.transport.writer import LaneWriter

M = TypeVar("M")

_ERROR = Kind.ERROR  # a member of an enum is looked up slowly


class Envelope(msgspec.Struct, Generic[M], frozen=True, array_like=True):
    """A struct, and the shape of the tree beside it."""

    message: M
    payload: Packed | None


class Delivery(Generic[M]):
    """One received message, and the tree beside it, still packed; a context manager that releases it at its end."""

    def __init__(self, lane: str, message: M, payload: Packed | None, tensors: Sequence[Tensor]) -> None:
        self.lane = lane
        self.message = message
        self._payload = payload
        self._tensors = tensors

    def unpack(self) -> Any:
        """Build the tree that was sent beside the message, or None; its arrays keep only their own bytes alive.

        Raises:
            FormatError: the tree and the tensors do not belong together.
        """
        return None if self._payload is None else unpack(self._payload, self._tensors)

    def release(self) -> None:
        """Give back what the tensors hold of the sender's slab, now; idempotent.

        Do it once nobody looks at the arrays of `unpack` any more, for their memory is used again from then on. Without
        a call each goes back with the last array that looks at it.
        """
        for tensor in self._tensors:
            if tensor.lease is not None:
                tensor.lease.release()

    def __enter__(self) -> Delivery[M]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class LaneSender(Generic[M]):
    """The writing end: one thread's, as its lane is."""

    def __init__(self, writer: LaneWriter, *others: LaneWriter, timeout: float, slab: Slab | None = None) -> None:
        """Send on a lane, or on several.

        Args:
            writer: of the lane.
            others: of further lanes, each of another reader: every message goes to all of them, or to none.
            timeout: seconds that a send, or the close, waits at most.
            slab: for what is large; without one everything travels inline.
        """
        self._writers = (writer, *others)
        self._rt = writer.lane.rt
        self._timeout = timeout
        self._slab = slab

    def send(self, message: M, payload: Any = None) -> None:
        """Send a struct, and a tree of host arrays and loans beside it; the arrays may be changed on return.

        Raises:
            Full: no room, or no slot, came free in time; nothing will be delivered, and the loans are still yours.
            UsageError: something in it cannot travel; likewise.
        """
        deadline = self._rt.now() + self._timeout
        packed, sources = (None, []) if payload is None else split(payload, "payload")
        body = wire.encode(Envelope(message, packed))
        placement = Placement(sources, self._slab)
        tensors = placement.place(rt=self._rt, deadline=deadline)
        lent = [source for source in sources if isinstance(source, Loan)]
        try:
            publish(self._writers, body, tensors, [*placement.loans, *lent], deadline - self._rt.now())
        except BaseException:
            placement.abort()
            raise

    def close(self) -> None:
        """Say that nothing more will come; idempotent."""
        for writer in self._writers:
            writer.close(self._timeout)

    def join(self) -> None:
        """Wait, after the close, until every reader has taken everything.

        Raises:
            Timeout: one has not; tells how many records are unread.
            PeerDied, PeerClosed: one ended before; tells which record it did not take.
        """
        for writer in self._writers:
            writer.join(self._timeout)


class PortReceiver(Generic[M]):
    """The reading end of any number of senders of one union of structs."""

    def __init__(self, port: Port, message_type: Any) -> None:
        self._port = port
        self._decoder = wire.Decoder(Envelope[message_type])

    def receive(self, timeout: float) -> Delivery[M]:
        """Take the next message, from whichever sender.

        Raises:
            Timeout: nothing came within ``timeout`` seconds; nothing has changed.
            PeerClosed: every sender has closed, or this end was.
            PeerDied: a sender has died, and all that it had sent was taken; told once for each of its lanes.
            PeerFailed: a writer sent an error instead of a message.
            FormatError: one message is not of the type; it alone is lost.
            LaneBroken: a lane's bytes disagree with the format; it is left out from now on.
        """
        while True:
            try:
                return self._deliver(*self._port.receive(timeout))
            except PeerClosed:
                if self._port.ended:
                    raise

    async def receive_async(self, timeout: float = math.inf) -> Delivery[M]:
        """Do as `receive` does, in an event loop; a task that is cancelled here has taken nothing.

        Raises:
            See `receive`.
            UsageError: the port's doorbell has no eventfd.
        """
        while True:
            try:
                return self._deliver(*await self._port.receive_async(timeout))
            except PeerClosed:
                if self._port.ended:
                    raise

    async def __aiter__(self) -> AsyncIterator[Delivery[M]]:
        """Receive until every sender has closed, or this end was.

        Raises:
            See `receive`; after an error, a new iteration goes on behind it.
        """
        with contextlib.suppress(PeerClosed):
            while True:
                yield await self.receive_async()

    def close(self) -> None:
        """Stop receiving; a receive that waits in another task ends with `PeerClosed`."""
        self._port.close()

    def _deliver(self, lane: str, message: Message) -> Delivery[M]:
        if message.kind is _ERROR:
            raise wire.decode(message.body, wire.RemoteError).as_error(f"The writer of lane '{lane}'")
        envelope = self._decoder.decode(message.body)
        return Delivery(lane, envelope.message, envelope.payload, message.tensors)
