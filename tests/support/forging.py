"""Forges memory: recordings of honest writers, with bytes flipped, cut, spliced, and fields set to what hurts most."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

from omni_ipc.transport.layout import (
    READ_POSITION,
    RECORD,
    RECORDS_TAKEN,
    RECORDS_WRITTEN,
    RING_OFFSET,
    WRITE_POSITION,
)
from tests.support.hostile import GEOMETRY, LIMIT, RING_BYTES, Recording

_HEADER_FIELDS = ((0, "<I"), (4, "<B"), (5, "<B"), (6, "<H"), (8, "<Q"))  # length, kind, flags, zero, sequence
_BODY_FIELDS = (  # of a tensor, or of a fragment
    *((0, "<I"), (4, "<I"), (8, "<Q"), (16, "<B"), (17, "<B"), (18, "<B"), (20, "<I"), (24, "<Q"), (32, "<Q")),
)
_FIELDS = (*_HEADER_FIELDS, *((RECORD.size + offset, code) for offset, code in _BODY_FIELDS))
_WORDS = (WRITE_POSITION, RECORDS_WRITTEN, READ_POSITION, RECORDS_TAKEN)
_NASTY = (0, 1, 2, 7, 8, 64, 65, 127, 128, 255, LIMIT - 1, LIMIT, LIMIT + 1, RING_BYTES, 1 << 31, (1 << 32) - 1)
_NASTIER = (1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 8, (1 << 64) - 1)


class Forger:
    """Makes any number of cases of one seed, each by its number alone."""

    def __init__(self, recordings: Sequence[Recording], seed: int) -> None:
        self._recordings = recordings
        self._seed = seed
        self._random = random.Random()
        self._ways: Sequence[Callable[[], None]] = (
            *(self._flip, self._set, self._cut, self._splice, self._copy_record),
            *(self._edit_field, self._edit_field, self._edit_field, self._edit_word, self._edit_generation),
        )

    def case(self, number: int) -> tuple[bytearray, bytearray]:
        """Forge a lane and a slab."""
        self._random.seed((self._seed << 32) + number)
        self._recording = self._random.choice(self._recordings)
        self._lane, self._slab = bytearray(self._recording.lane), bytearray(self._recording.slab)
        for _ in range(self._random.choice((1, 1, 1, 2, 3, 8))):
            self._random.choice(self._ways)()
        return self._lane, self._slab

    def _place(self) -> int:
        """Pick a byte: mostly of a record, sometimes of the header or the words."""
        if self._random.random() < 0.1:
            return self._random.randrange(RING_OFFSET)
        return _in_ring(self._random.choice(self._recording.records) + self._random.randrange(96))

    def _flip(self) -> None:
        self._lane[self._place()] ^= 1 << self._random.randrange(8)

    def _set(self) -> None:
        self._lane[self._place()] = self._random.randrange(256)

    def _cut(self) -> None:
        """Publish less than was written, up to any byte."""
        start = self._recording.records[0]
        end = self._random.choice((*self._recording.records, start + self._random.randrange(RING_BYTES)))
        self._store(WRITE_POSITION, end)

    def _splice(self) -> None:
        """Put bytes of another recording here."""
        source, place, nbytes = self._random.choice(self._recordings), self._place(), self._random.randrange(1, 200)
        start = _in_ring(self._random.choice(source.records))
        piece = source.lane[start : start + nbytes]
        self._lane[place : place + len(piece)] = piece[: len(self._lane) - place]

    def _copy_record(self) -> None:
        """Put one record in the place of another."""
        start, place = (_in_ring(self._random.choice(self._recording.records)) for _ in range(2))
        piece = self._recording.lane[start : start + self._random.choice((16, 64, 200))]
        self._lane[place : place + len(piece)] = piece[: len(self._lane) - place]

    def _edit_field(self) -> None:
        offset, code = self._random.choice(_FIELDS)
        place = _in_ring(self._random.choice(self._recording.records) + offset)
        if place + struct.calcsize(code) <= len(self._lane):
            self._put(self._lane, place, code)

    def _edit_word(self) -> None:
        self._put(self._lane, self._random.choice(_WORDS) * 8, "<Q")

    def _edit_generation(self) -> None:
        slot = self._random.randrange(GEOMETRY.slots)
        self._put(self._slab, GEOMETRY.generation_word(slot) * 8, "<Q")

    def _put(self, memory: bytearray, place: int, code: str) -> None:
        """Set a number to a nasty one, or to a neighbour of itself."""
        (old,) = struct.unpack_from(code, memory, place)
        near = old + self._random.choice((-8, -1, 1, 8))
        new = self._random.choice((near, self._random.choice(_NASTY), self._random.choice(_NASTIER)))
        struct.pack_into(code, memory, place, new & ((1 << 8 * struct.calcsize(code)) - 1))

    def _store(self, word: int, value: int) -> None:
        struct.pack_into("<Q", self._lane, word * 8, value)


def _in_ring(position: int) -> int:
    return RING_OFFSET + position % RING_BYTES
