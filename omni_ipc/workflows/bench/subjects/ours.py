"""omni_ipc's transport: a lane and a slab; its reader parks, or spins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from omni_ipc.seam.native import NativeRuntime
from omni_ipc.transport.arrays import from_tensor
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.tensor import Tensor
from omni_ipc.transport.writer import LaneWriter
from omni_ipc.workflows.bench.subject import Case, Payload, Receiver, Sender, Work

_PATIENCE_S = 60.0
_SLOTS = 2
_MESSAGES_A_BATCH = 64


class Note(msgspec.Struct, frozen=True, tag=True):
    """A message with nothing in it but what travels beside it."""


class Parked:
    """A lane, a doorbell and a slab, mapped by both."""

    spins = False

    def __init__(self, case: Case) -> None:
        self._case = case
        self._rt = NativeRuntime()
        classes = [SlotClass(max(64, 1 << (case.size_bytes - 1).bit_length()), _SLOTS)]
        sizes = (lane_bytes(), DOORBELL_BYTES, Geometry(classes).nbytes)
        self._segments = [Segment.create(nbytes, name="bench") for nbytes in sizes]
        lane, bell, slab = self._buffers()
        self._lane = Lane.create(rt=self._rt, buffer=lane, name="bench")
        self._doorbell = create_doorbell(rt=self._rt, buffer=bell)
        Geometry(classes).lay(slab)

    def sender(self) -> Sender:
        writer = LaneWriter(self._lane, doorbell=self._doorbell)
        size_bytes = self._case.size_bytes
        match self._case.work:
            case Work.COPY:
                return _Copying(writer, size_bytes)
            case Work.BATCH:
                return _Batching(writer, size_bytes)
        slab = Slab(rt=self._rt, buffer=self._buffers()[2], name="bench")
        kinds: dict[Work, Callable[[LaneWriter, Slab, int], Sender]] = {
            Work.VIEW: _Viewing,
            Work.TREE: _Packing,
            Work.LOAN: _Lending,
        }
        return kinds[self._case.work](writer, slab, size_bytes)

    def receiver(self) -> Receiver:
        slab = SlabReader(rt=self._rt, buffer=self._buffers()[2], name="bench")
        reader = LaneReader(self._lane, slab=slab)
        port = Port(rt=self._rt, lanes=[reader], doorbell=self._doorbell, spin_s=_PATIENCE_S if self.spins else 0.0)
        kinds: dict[Work, Callable[[Port], Receiver]] = {
            Work.COPY: _Bodies,
            Work.BATCH: _Batches,
            Work.VIEW: _Arrays,
            Work.TREE: _Trees,
            Work.LOAN: _Slots,
        }
        return kinds[self._case.work](port)

    def close(self) -> None:
        for segment in self._segments:
            segment.close()

    def _buffers(self) -> list[memoryview]:
        return [segment.view for segment in self._segments]


class Spinning(Parked):
    """The same, with a reader that never sleeps."""

    spins = True


class _End:
    def __init__(self, writer: LaneWriter) -> None:
        self._writer = writer

    def close(self) -> None:
        self._writer.close(_PATIENCE_S)


class _Copying(_End):
    def __init__(self, writer: LaneWriter, size_bytes: int) -> None:
        super().__init__(writer)
        self._payload = Payload(size_bytes)

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        self._writer.send(self._payload.bytes, timeout=_PATIENCE_S)


class _Batching(_End):
    def __init__(self, writer: LaneWriter, size_bytes: int) -> None:
        super().__init__(writer)
        self._payload = Payload(size_bytes)
        self._bodies = [self._payload.bytes] * _MESSAGES_A_BATCH

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        self._writer.send_many(self._bodies, timeout=_PATIENCE_S)


class _Viewing(_End):
    def __init__(self, writer: LaneWriter, slab: Slab, size_bytes: int) -> None:
        super().__init__(writer)
        self._slab = slab
        self._payload = Payload(size_bytes)
        self._array = np.frombuffer(self._payload.bytes, np.uint8)

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        loan = self._slab.loan(self._array.nbytes, timeout=_PATIENCE_S)
        loan.fill(self._array)
        loan.commit(self._writer, timeout=_PATIENCE_S)


class _Packing(_End):
    def __init__(self, writer: LaneWriter, slab: Slab, size_bytes: int) -> None:
        super().__init__(writer)
        self._payload = Payload(size_bytes)
        self._array = np.frombuffer(self._payload.bytes, np.uint8)
        self._sender = LaneSender[Note](writer, timeout=_PATIENCE_S, slab=slab)

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        self._sender.send(Note(), self._array)


class _Lending(_End):
    def __init__(self, writer: LaneWriter, slab: Slab, size_bytes: int) -> None:
        super().__init__(writer)
        self._slab = slab
        self._size_bytes = size_bytes

    def send(self, stamp: int) -> None:
        loan = self._slab.loan(self._size_bytes, timeout=_PATIENCE_S)
        words = loan.view.cast("Q")
        words[0] = words[-1] = stamp
        loan.commit(self._writer, timeout=_PATIENCE_S)


class _Bodies(Receiver):
    def __init__(self, port: Port) -> None:
        self._port = port

    def receive(self) -> bytearray:
        return self._port.receive(_PATIENCE_S)[1].body


class _Batches(Receiver):
    def __init__(self, port: Port) -> None:
        self._port = port

    def receive(self) -> bytearray:
        _, messages = self._port.receive_many(_PATIENCE_S)
        self.count = len(messages)
        return messages[-1].body


class _Slots(Receiver):
    def __init__(self, port: Port) -> None:
        self._port = port
        self._lease: Any = None

    def receive(self) -> Any:
        tensor = self._port.receive(_PATIENCE_S)[1].tensors[0]
        self._lease = tensor.lease
        return self._seen(tensor)

    def release(self) -> None:
        self._lease.release()
        self._lease = None  # as a user would: else it ends within the next measurement

    def _seen(self, tensor: Tensor) -> Any:
        return tensor.data


class _Arrays(_Slots):
    def _seen(self, tensor: Tensor) -> Any:
        return from_tensor(tensor)


class _Trees(Receiver):
    def __init__(self, port: Port) -> None:
        self._receiver: PortReceiver[Note] = PortReceiver(port, Note)
        self._delivery: Any = None

    def receive(self) -> np.ndarray[Any, Any]:
        self._delivery = self._receiver.receive(_PATIENCE_S)
        array: np.ndarray[Any, Any] = self._delivery.unpack()
        return array

    def release(self) -> None:
        self._delivery.release()
