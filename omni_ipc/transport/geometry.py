"""Where everything lies in a slab: slots in size classes, and the words that say who holds them.

Slab: one writer process, any number of readers, and of guests (guests.py)
      0  header (layout.py); its ring bytes are those of the whole slab
    128  readers u16, guests u16, classes u32, then of each class: slot bytes u64, slots u64
    384  writer parked
    512  a row of words, one a slot: the generation that the slot is on its way with        written by the writer
  + row  for each reader a line: its start time u64, its pid u64; and a row of words,
         one a slot: the generation that it released last                                   written by that reader
  + row  for each guest the same; its words say the generation that it holds, or 0          written by that guest
  then   the slots, from a page's start on, the smallest class first; slots count through all classes

A row begins on a line of its own, so that no two processes write to one.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from typing import NamedTuple

from omni_ipc.errors import FormatError, UsageError
from omni_ipc.transport.layout import LINE_BYTES, WRITER_PARKED, Header, SegmentKind, padded

SLOT_PARKED = WRITER_PARKED
PAGE_BYTES = 4096
SMALLEST_SLOT_BYTES = 64  # also the grain of places in a slot: every element type is aligned there
MOST_CLASSES = 15
MOST_SLOTS = 1 << 16
MOST_READERS = 1 << 10

_COUNTS = struct.Struct("<HHI")
_CLASS = struct.Struct("<QQ")
_TABLE_OFFSET = LINE_BYTES
_ROWS_OFFSET = 4 * LINE_BYTES
_WORD_BYTES = 8
_FIRST_ROW = _ROWS_OFFSET // _WORD_BYTES  # as an index of words


class SlotClass(NamedTuple):
    """Slots of one size."""

    slot_bytes: int  # a power of two
    slots: int


DEFAULT_CLASSES = tuple(
    SlotClass(1 << power, min(64, max(2, (64 << 20) >> power)))
    for power in range(14, 27)  # 16 KiB to 64 MiB
)
"""Room for 64 MiB of each size; a slot costs memory from its first use on, and the last one used is the next."""


class Geometry:
    """The places of one slab."""

    def __init__(self, classes: Sequence[SlotClass] = DEFAULT_CLASSES, *, readers: int = 1, guests: int = 0) -> None:
        """Lay out a slab.

        Args:
            classes: sizes of its slots.
            readers: that are sent every message beside which slots travel.
            guests: processes that readers may hand slots on to, at a time.

        Raises:
            UsageError: sizes that are no rising powers of two, or counts out of their range.
        """
        self.classes = tuple(SlotClass(*each) for each in classes)
        self.readers = readers
        self.guests = guests
        if complaint := _complaint(self.classes, readers, guests):
            raise UsageError(f"A slab with {complaint}. Give rising powers of two, and counts of 1 or more.")
        counts = [each.slots for each in self.classes]
        self.first_slots = tuple(itertools.accumulate(counts, initial=0))[:-1]  # of each class
        self.slots = sum(counts)
        row_bytes = padded(self.slots * _WORD_BYTES, LINE_BYTES)
        self._first_reader = _FIRST_ROW + row_bytes // _WORD_BYTES
        self._reader_words = (LINE_BYTES + row_bytes) // _WORD_BYTES
        rows_bytes = row_bytes + (readers + guests) * (LINE_BYTES + row_bytes)
        self.words_bytes = padded(_ROWS_OFFSET + rows_bytes, PAGE_BYTES)
        sizes = [each.slot_bytes for each in self.classes for _ in range(each.slots)]
        *offsets, end = itertools.accumulate(sizes, initial=self.words_bytes)
        self.spans = tuple(zip(offsets, sizes, strict=True))  # offset and bytes of each slot
        self.nbytes = padded(end, PAGE_BYTES)

    @classmethod
    def read(cls, buffer: memoryview, name: str) -> Geometry:
        """Read and check what was laid into a buffer.

        Raises:
            FormatError: it is no slab of this version, or its geometry is impossible.
        """
        Header.read(buffer, SegmentKind.SLAB, name)
        readers, guests, count = _COUNTS.unpack_from(buffer, _TABLE_OFFSET)
        if count > MOST_CLASSES:
            raise FormatError(f"Slab '{name}', geometry: {count} classes; there are {MOST_CLASSES} at most.")
        offset = _TABLE_OFFSET + _COUNTS.size
        classes = [SlotClass(*_CLASS.unpack_from(buffer, offset + index * _CLASS.size)) for index in range(count)]
        if complaint := _complaint(classes, readers, guests):
            raise FormatError(f"Slab '{name}', geometry: {complaint}.")
        geometry = cls(classes, readers=readers, guests=guests)
        if geometry.nbytes != buffer.nbytes:
            raise FormatError(f"Slab '{name}', geometry: it needs {geometry.nbytes} bytes, and has {buffer.nbytes}.")
        return geometry

    def lay(self, buffer: memoryview, *, epoch: int = 0) -> None:
        """Write header and geometry into a zero-filled buffer of ``nbytes``, before anybody hears of it."""
        Header(SegmentKind.SLAB, self.nbytes, epoch).lay(buffer)
        _COUNTS.pack_into(buffer, _TABLE_OFFSET, self.readers, self.guests, len(self.classes))
        for index, each in enumerate(self.classes):
            _CLASS.pack_into(buffer, _TABLE_OFFSET + _COUNTS.size + index * _CLASS.size, *each)

    @property
    def largest_bytes(self) -> int:
        """Bytes of the largest slot."""
        return self.classes[-1].slot_bytes

    def generation_word(self, slot: int) -> int:
        """Give the index of the word in which the writer says with which generation the slot is on its way."""
        return _FIRST_ROW + slot

    def release_word(self, slot: int, reader: int) -> int:
        """Give the index of the word in which a reader says which generation it released last.

        Guests count behind the readers; theirs says which generation they hold.
        """
        return self.signature_word(reader) + LINE_BYTES // _WORD_BYTES + slot

    def signature_word(self, reader: int) -> int:
        """Give the index of the first of the two words in which a reader says which process it is."""
        return self._first_reader + reader * self._reader_words


def _complaint(classes: Sequence[SlotClass], readers: int, guests: int) -> str | None:
    sizes = [each.slot_bytes for each in classes]
    if not 1 <= len(classes) <= MOST_CLASSES:
        return f"{len(classes)} classes, of at most {MOST_CLASSES}"
    if any(size < SMALLEST_SLOT_BYTES or size & (size - 1) for size in sizes) or sorted(set(sizes)) != sizes:
        return f"slots of {sizes} bytes, of at least {SMALLEST_SLOT_BYTES}"
    if guests < 0 or readers + guests > MOST_READERS:
        return f"{readers} readers and {guests} guests, of at most {MOST_READERS}"
    if any(each.slots < 1 for each in classes) or readers < 1 or sum(each.slots for each in classes) > MOST_SLOTS:
        return f"{[each.slots for each in classes]} slots and {readers} readers, of at most {MOST_SLOTS} slots"
    return None
