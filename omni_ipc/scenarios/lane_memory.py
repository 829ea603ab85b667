"""The memory of a lane whose ring holds one record: what lies there, by the numbers of the records.

Record 1 is a message as large as the ring, and lies in it from the beginning; record 2 is END. The positions are such
that the header of each lies at the ring's end, and its body at the ring's start: each is written by two accesses, its
head and its tail.
"""

from __future__ import annotations

from collections.abc import Mapping

from omni_ipc.records import Field
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.framing import frame, message_records
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import (
    DOORBELL_BYTES,
    END,
    READ_POSITION,
    READER_PARKED,
    RECORD,
    RECORD_BYTES,
    RECORDS_TAKEN,
    RECORDS_WRITTEN,
    RING_OFFSET,
    SMALLEST_RING_BYTES,
    WRITE_POSITION,
    WRITER_PARKED,
    Kind,
)

RING_BYTES = SMALLEST_RING_BYTES
RECORDS = 2

_BODY = b"\1" * (RING_BYTES - RECORD_BYTES)  # of the message
_FIRST = RING_BYTES - RECORD_BYTES
_NUMBERS = {_FIRST: 0, _FIRST + RING_BYTES: 1, _FIRST + RING_BYTES + RECORD_BYTES + END.size: 2}
_TAILS = {bytes(END.size): 0, _BODY[: END.size]: 1, END.pack(1): 2}


class LaneMemory:
    """A full lane and the doorbell of its reader, as they are for all to see.

    Attributes:
        lane, doorbell: their bytes.
    """

    def __init__(self, rt: Runtime) -> None:
        self.lane = memoryview(bytearray(lane_bytes(RING_BYTES)))
        self.doorbell = memoryview(bytearray(DOORBELL_BYTES))
        lane = Lane.create(rt=rt, buffer=self.lane, name="lane")
        lane.words.store(READ_POSITION, _FIRST)
        (message,) = frame(message_records(Kind.MESSAGE, _BODY), sequence=0)
        lane.words.store(WRITE_POSITION, lane.write(_FIRST, message))
        lane.words.store(RECORDS_WRITTEN, 1)
        lane.words.fence()

    @property
    def written(self) -> int:
        """Records that were counted by their writer."""
        return _word(self.lane, RECORDS_WRITTEN)

    @property
    def published(self) -> int:
        """Records in front of the write position."""
        return number_at(_word(self.lane, WRITE_POSITION))

    @property
    def consumed(self) -> int:
        """Records in front of the read position."""
        return number_at(_word(self.lane, READ_POSITION))

    @property
    def taken(self) -> int:
        """Records that were counted by their reader."""
        return _word(self.lane, RECORDS_TAKEN)

    @property
    def body(self) -> tuple[int, int]:
        """Head and tail of what lies in the ring."""
        ring = self.lane[RING_OFFSET:]
        return parts_of(bytes(ring[_FIRST:]) + bytes(ring[:_FIRST]))

    def cells(self) -> Mapping[tuple[object, ...], int]:
        """Give the model's `memory`."""
        head, tail = self.body
        return {
            ("records written",): self.written,
            ("write position",): self.published,
            ("records taken",): self.taken,
            ("read position",): self.consumed,
            ("parked", "writer"): _word(self.lane, WRITER_PARKED),
            ("parked", "reader"): _word(self.doorbell, READER_PARKED),
            ("head", 1): head,
            ("tail", 1): tail,
        }


def number_at(position: int) -> int:
    """Tell how many records lie in front of a position."""
    return _NUMBERS[position]


def room_until(position: int) -> int:
    """Tell up to which record there is room, of a position as far as which there is room; 0 is that of nobody."""
    return number_at(position - RING_BYTES) + 1 if position else 0


def parts_of(record: bytes | bytearray) -> tuple[int, int]:
    """Tell whose head, and whose tail, the bytes of a record are; 0 is nobody's."""
    _, kind, _, _, sequence = RECORD.unpack_from(record)
    return sequence + 1 if kind else 0, _TAILS.get(bytes(record[RECORD_BYTES:][: END.size]), 0)


def half_of(offset: int, data: bytes) -> Mapping[str, Field]:
    """Tell of bytes that are about to be written which half of which record they are."""
    if offset == RING_OFFSET:
        return {"half": "tail", "record": _TAILS[data[: END.size]]}
    return {"half": "head", "record": parts_of(data)[0]}


def _word(buffer: memoryview, index: int) -> int:
    return buffer.cast("Q")[index]
