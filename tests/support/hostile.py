"""A reader of whatever a hostile writer left behind, through every layer that looks at received bytes.

lane ─► records ─► message ─► tensors ─► slots ─► struct ─► tree

It may give valid messages, and end with an error that says which bytes disagree. All else is a finding.
"""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from omni_ipc.errors import EnvironmentMissing, FormatError, PeerClosed, PeerDied, PeerFailed, Timeout
from omni_ipc.transport import dtypes, wire
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import Delivery, LaneSender, PortReceiver
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import (
    DOORBELL_BYTES,
    READ_POSITION,
    RECORD,
    RING_OFFSET,
    WRITE_POSITION,
    Kind,
    Side,
    padded,
)
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.packing import pack
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT
from tests.support.slabs import Note

RING_BYTES = 4096
LIMIT = 2048  # of a message's bytes, as declared to the reader: less than a ring may hold
GEOMETRY = Geometry((SlotClass(1 << 10, 2), SlotClass(1 << 13, 2)))
MOST_MESSAGES = RING_BYTES // RECORD.size

READER = slice(Side.READER, Side.READER + 16)  # of the lane's header: the reader's own signature


class Recording(NamedTuple):
    """What an honest writer left behind: unread messages in a ring, and data in a slab."""

    lane: bytes
    slab: bytes
    records: tuple[int, ...]  # positions of the unread records


Script = Callable[[LaneSender[Note], LaneWriter], object]


def record(script: Script, *, start: int = 0) -> Recording:
    """Let a writer send what it likes, from a position of the ring on."""
    lane_memory, slab_memory = bytearray(lane_bytes(RING_BYTES)), bytearray(GEOMETRY.nbytes)
    lane = Lane.create(rt=RT, buffer=memoryview(lane_memory), name="recorded")
    for word in (WRITE_POSITION, READ_POSITION):
        lane.words.store(word, start)
    writer = LaneWriter(lane)
    slab = Slab.create(rt=RT, buffer=memoryview(slab_memory), name="recorded", classes=GEOMETRY.classes)
    script(LaneSender(writer, timeout=0, slab=slab), writer)
    records, position, end = [], start, lane.words.load(WRITE_POSITION)
    while position < end:
        records.append(position)
        (length, *_) = RECORD.unpack(lane.read(position, RECORD.size))
        position += padded(RECORD.size + length)
    return Recording(bytes(lane_memory), bytes(slab_memory), tuple(records))


def recordings() -> list[Recording]:
    """Record each kind of record and of message, wrapped around the end of the ring too."""
    scripts: list[Script] = [_send_small, _send_placed, _send_alone, _send_fragments, _send_error]
    return [record(script, start=start) for script in scripts for start in (0, 3 * RING_BYTES - 56)]


def _send_small(sender: LaneSender[Note], writer: LaneWriter) -> None:
    sender.send(Note("first"))
    sender.send(Note(), {"x": np.arange(5), "y": [1.5, None, b"bytes", "text", (True, -7)]})
    sender.send(Note("third"), [np.zeros((0, 3), np.float32), np.array(2.5), *_torch_tensors()])


def _send_placed(sender: LaneSender[Note], writer: LaneWriter) -> None:
    sender.send(Note(), [np.arange(5000, dtype=np.uint8), np.ones(750)])
    sender.send(Note("behind"), np.ones((2, 8), np.int16))
    sender.close()


def _send_alone(sender: LaneSender[Note], writer: LaneWriter) -> None:
    slab = sender._slab
    assert slab is not None
    loan = slab.loan(600, timeout=0)
    loan.fill(np.arange(60).reshape(5, 12))
    loan.commit(writer, timeout=0)
    writer.send(b"", [pack(np.ones(3))[1][0]], timeout=0)
    sender.send(Note("behind what is no Note"))


def _send_fragments(sender: LaneSender[Note], writer: LaneWriter) -> None:
    sender.send(Note("x" * 1000), np.arange(90))
    sender.send(Note("behind"))


def _send_error(sender: LaneSender[Note], writer: LaneWriter) -> None:
    sender.send(Note("before"), (np.ones(3),))
    writer.send(wire.encode(wire.RemoteError.from_exception(ValueError("bad"))), timeout=0, kind=Kind.ERROR)
    sender.close()


def _torch_tensors() -> list[Any]:
    with contextlib.suppress(ImportError):
        import torch

        return [torch.ones(3, dtype=torch.bfloat16), torch.zeros(2, 2), torch.zeros(0, 1)]
    return []


class Victim:
    """Reads forged memory, again and again, and is judged by what it does."""

    def __init__(self) -> None:
        self._lane = bytearray(lane_bytes(RING_BYTES))
        self._slab = bytearray(GEOMETRY.nbytes)
        GEOMETRY.lay(memoryview(self._slab))
        self._leases = SlabReader(rt=RT, buffer=memoryview(self._slab), name="slab")
        self._doorbell = create_doorbell(rt=RT, buffer=memoryview(bytearray(DOORBELL_BYTES)))

    def read(self, lane: bytes | bytearray, slab: bytes | bytearray) -> int:
        """Read everything there is, and count the valid messages.

        Raises:
            AssertionError, or anything else that is no answer to forged bytes: a finding.
        """
        self._lane[:] = lane
        self._lane[READER] = bytes(16)
        self._slab[:] = slab
        delivered = self._receive_all()
        read, written = _word(self._lane, READ_POSITION), _word(lane, WRITE_POSITION)
        assert read in (_word(lane, READ_POSITION), min(read, written)), "the reader went beyond what is published"
        written_words = slice(0, GEOMETRY.release_word(0, 0) * 8)
        assert self._lane[RING_OFFSET:] == lane[RING_OFFSET:], "the reader wrote into the ring"
        assert self._slab[written_words] == slab[written_words], "the reader wrote to the writer's words"
        assert self._slab[GEOMETRY.words_bytes :] == slab[GEOMETRY.words_bytes :], "the reader wrote into a slot"
        return delivered

    def _receive_all(self) -> int:
        delivered = 0
        try:
            lane = Lane(rt=RT, buffer=memoryview(self._lane), name="forged", max_message_bytes=LIMIT)
            reader = LaneReader(lane, slab=self._leases)
        except FormatError:
            return delivered
        receiver: PortReceiver[Note] = PortReceiver(Port(rt=RT, lanes=[reader], doorbell=self._doorbell), Note)
        for _ in range(MOST_MESSAGES + 1):
            try:
                delivery = receiver.receive(0)
            except (Timeout, PeerClosed, PeerDied):
                return delivered
            except (FormatError, PeerFailed):  # of one message; a broken lane is left out, so that the port ends
                continue
            _look_at(delivery)
            delivered += 1
        raise AssertionError(f"{delivered} messages came out of {RING_BYTES} bytes, and more would")


def _word(memory: bytes | bytearray, index: int) -> int:
    return int.from_bytes(memory[8 * index : 8 * index + 8], "little")


def _look_at(delivery: Delivery[Note]) -> None:
    """Touch all that a message gives."""
    assert type(delivery.message) is Note
    assert sum(tensor.data.nbytes for tensor in delivery._tensors if tensor.lease is None) <= LIMIT
    for tensor in delivery._tensors:
        zlib.crc32(tensor.data)
        assert tensor.data.nbytes == math.prod(tensor.shape) * dtypes.item_bytes(tensor.dtype)
    with contextlib.suppress(FormatError, EnvironmentMissing):  # of an element type that this torch does not have
        delivery.unpack()
