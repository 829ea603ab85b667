"""A lane and a port that speak structs with trees of arrays beside them: what serving sends and receives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec

from omni_ipc.errors import PeerClosed
from omni_ipc.transport import wire
from omni_ipc.transport.layout import Kind
from omni_ipc.transport.packing import Packed, pack, unpack
from omni_ipc.transport.port import Port
from omni_ipc.transport.tensor import Tensor
from omni_ipc.transport.writer import LaneWriter

M = TypeVar("M")


class _Envelope(msgspec.Struct, Generic[M], frozen=True, array_like=True):
    message: M
    payload: Packed | None


class Delivery(Generic[M]):
    """One received message, and the tree beside it, still packed."""

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


class LaneSender(Generic[M]):
    """The writing end: one thread's, as its lane is."""

    def __init__(self, writer: LaneWriter, *, timeout: float) -> None:
        """Send on a lane.

        Args:
            writer: of the lane.
            timeout: seconds that a send, or the close, waits for room at most.
        """
        self._writer = writer
        self._timeout = timeout

    def send(self, message: M, payload: Any = None) -> None:
        """Send a struct, and a tree of host arrays beside it; both may be changed on return.

        Raises:
            Full: no room came free in time; nothing will be delivered.
            UsageError: something in it cannot travel; nothing was written.
        """
        packed, tensors = (None, []) if payload is None else pack(payload, "payload")
        self._writer.send(wire.encode(_Envelope(message, packed)), tensors, timeout=self._timeout)

    def close(self) -> None:
        """Say that nothing more will come; idempotent."""
        self._writer.close(self._timeout)


class PortReceiver(Generic[M]):
    """The reading end of any number of senders of one union of structs."""

    def __init__(self, port: Port, message_type: Any) -> None:
        self._port = port
        self._type = _Envelope[message_type]

    def receive(self, timeout: float) -> Delivery[M]:
        """Take the next message, from whichever sender.

        Raises:
            Timeout: nothing came within ``timeout`` seconds; nothing has changed.
            PeerClosed: every sender has closed, or this end was.
            PeerFailed: a writer sent an error instead of a message.
            FormatError: one message is not of the type (it alone is lost), or a lane is broken (and left out from now).
        """
        while True:
            try:
                lane, message = self._port.receive(timeout)
            except PeerClosed:
                if self._port.closed or not self._port.lanes:
                    raise
                continue
            if message.kind is Kind.ERROR:
                raise wire.decode(message.body, wire.RemoteError).as_error(f"The writer of lane '{lane}'")
            envelope = wire.decode(message.body, self._type)
            return Delivery(lane, envelope.message, envelope.payload, message.tensors)

    def close(self) -> None:
        """Stop receiving; a receive that waits in another task ends with `PeerClosed`."""
        self._port.close()
