"""A stream of small messages and tensors of mixed size, made by its number alone, so that both sides know it."""

from __future__ import annotations

import signal
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import numpy as np

from omni_ipc.transport.bell import open_doorbell
from omni_ipc.transport.channel import LaneSender
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT

CLASSES = (SlotClass(1 << 14, 16), SlotClass(1 << 17, 8), SlotClass(1 << 20, 4))
PATIENCE_S = 120.0

_BYTES = np.frombuffer(bytes(zlib.crc32(b"%d" % n) & 0xFF for n in range(1 << 16)) * 17, np.uint8)
_SIZES = (0, 40, 3_000, 12_000, 70_000, 9_000, 300, 1_000_000, 20_000, 130_000)


class Item(msgspec.Struct, frozen=True, tag=True):
    """A message, whose tensor, if it has one, travels beside it."""

    number: int
    checksum: int
    text: str = ""


def tensor_of(number: int) -> np.ndarray:
    """Make the tensor beside a message."""
    start = number * 7919 % (1 << 16)
    return _BYTES[start : start + _SIZES[number % len(_SIZES)]]


def checksum(number: int, text: str, tensor: np.ndarray | None) -> int:
    """Sum up all that a message carries."""
    data = b"" if tensor is None else tensor
    return zlib.crc32(data, zlib.crc32(b"%d:%s" % (number, text.encode())))


def stream(*fds: int, messages: int, tensor_every: int) -> None:
    """Send numbered messages, each so manieth with a tensor; close, await the acknowledgement, and pause."""
    lane_fd, bell_fd, slab_fd = fds
    lane, bell, slab = (Segment.attach(fd, name="soak") for fd in (lane_fd, bell_fd, slab_fd))
    doorbell = open_doorbell(rt=RT, buffer=bell.view)
    writer = LaneWriter(Lane(rt=RT, buffer=lane.view, name="out"), doorbell=doorbell)
    lender = Slab(rt=RT, buffer=slab.view, name="slab", prepare=slab.reserve)
    sender: LaneSender[Item] = LaneSender(writer, timeout=PATIENCE_S, slab=lender)
    for number in range(messages):
        tensor = tensor_of(number) if number % tensor_every == 0 else None
        text = f"message {number}" if number % 3 else ""
        sender.send(Item(number, checksum(number, text, tensor), text), tensor)
    sender.close()
    sender.join()
    signal.pause()


@contextmanager
def slab() -> Iterator[tuple[int, SlabReader]]:
    """Lay a slab into a segment: its descriptor for the writer, and the reader's end."""
    geometry = Geometry(CLASSES)
    with Segment.create(geometry.nbytes, name="soak", reserved=geometry.words_bytes) as segment:
        geometry.lay(segment.view)
        yield segment.fd, SlabReader(rt=RT, buffer=segment.view, name="slab")
