"""A ring of which each store of a writer is a step, named after the action of the model DualWriterStores that it is.

All records are of one length: a place of the model is a position here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from omni_ipc.records import Field
from omni_ipc.scenarios.stepped_words import Access, Listener, SteppedWords
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.messages import OutputReady
from omni_ipc.transport import wire
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import Envelope
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import (
    DOORBELL_BYTES,
    RECORD,
    RECORD_BYTES,
    RECORDS_WRITTEN,
    RING_OFFSET,
    WRITE_POSITION,
    padded,
)

RING_BYTES = 1024  # never full
NAME_CHARACTERS = 16


class Record(NamedTuple):
    """A record: who wrote it, the how manieth message of that it is, and its number in the ring."""

    writer: str
    message: int
    sequence: int


_WORD_BYTES = 8
_WORDS = {RECORDS_WRITTEN * _WORD_BYTES: "count", WRITE_POSITION * _WORD_BYTES: "position"}


class SteppedRing:
    """A lane with a doorbell of its own."""

    def __init__(self, rt: Runtime, name: str, listener: Listener) -> None:
        self._memory = memoryview(bytearray(lane_bytes(RING_BYTES)))
        self.doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        self.lane = Lane.create(rt=rt, buffer=self._memory, name=name)
        self._words: Any = self.lane.words
        self.lane.words = SteppedWords(rt, self.lane.words, _stores(), listener, of_bytes=_what_is_filled)

    @property
    def count(self) -> int:
        """Records that were written, for all to see."""
        return self._word(RECORDS_WRITTEN)

    @property
    def write(self) -> int:
        """The place behind the last published record, for all to see."""
        return place_at(self._word(WRITE_POSITION))

    def records(self, places: int) -> tuple[Record | tuple[()], ...]:
        """Give what lies at the first places, for all to see; () is no record."""
        begins = range(RING_OFFSET, RING_OFFSET + places * _LENGTH, _LENGTH)
        return tuple(_record(self._memory[begin : begin + _LENGTH]) or () for begin in begins)

    def cell(self, place: Mapping[str, Field]) -> str | None:
        """Name what a store changes, if it is a store of a writer to this ring."""
        if place["words"] != self._words.name:
            return None
        return _cell(int(place["offset"]) if "offset" in place else int(place["index"]) * _WORD_BYTES)

    def _word(self, index: int) -> int:
        return self._memory.cast("Q")[index]


def place_at(position: int) -> int:
    """Number the place at a position; 1 is the first one."""
    return position // _LENGTH + 1


def name_of(writer: str, number: int) -> str:
    """Name the output whose message a writer sends; all names are of one length."""
    return f"{number} {writer}".ljust(NAME_CHARACTERS)


def message_of(name: str) -> tuple[str, int]:
    """Tell writer and number of a message by the name of its output."""
    number, writer = name.split()
    return writer, int(number)


_LENGTH = padded(RECORD_BYTES + len(wire.encode(Envelope(OutputReady(name_of("", 0), split=False), None))))


def _stores() -> Mapping[Access, str]:
    """Name the stores of a writer; of those of the reader the model does not speak.

    Spec: WriterFill, WriterCount, WriterAdvance
    """
    return {
        ("write",): "Writer.Fill",
        ("store", RECORDS_WRITTEN): "Writer.Count",
        ("store", WRITE_POSITION): "Writer.Advance",
    }


def _what_is_filled(offset: int, data: bytes) -> Mapping[str, Field]:
    """Tell of the record that lies in bytes for the ring who wrote it, and its place and number there."""
    record = _record(data)
    assert record is not None, "a record is written by one access"
    return {"writer": record.writer, "place": place_at(offset - RING_OFFSET), "sequence": record.sequence}


def _cell(offset: int) -> str | None:
    return "record" if offset >= RING_OFFSET else _WORDS.get(offset)


def _record(data: bytes | bytearray | memoryview) -> Record | None:
    length, kind, _, _, sequence = RECORD.unpack_from(data)
    if not kind:
        return None
    message, _ = msgspec.msgpack.decode(data[RECORD_BYTES : RECORD_BYTES + length])
    return Record(*message_of(message["output"]), sequence)
