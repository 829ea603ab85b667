"""Byte layouts of the shared segments: every offset, width and code that two processes must agree on.

All numbers are little-endian. What each side writes lies on 128-byte lines of its own, so that the sides never fight
over a cache line, nor over its neighbour that the processor prefetches.

Lane: one writer, one reader               Doorbell: any number of writers, one reader
      0  header                                  0  header
    128  write position, records written       128  reader parked
    256  read position, records taken
    384  writer parked
    512  ring: a power of two bytes

Header, laid once, before the descriptor travels; the writer signs it when it attaches
      0  magic "omni_ipc"        8  layout version u32     12  segment kind u32
     16  ring bytes u64         24  epoch u64              32  writer pid u64     40  its start time u64

Positions count bytes since the lane was laid, u64, and never go back; the offset in the ring is position % ring bytes.

Record: 8-byte aligned; may wrap around the end of the ring
      0  body length u32    4  kind u8    5  flags u8    6  zero u16    8  sequence u64    16  body, padded to 8

Bodies
  MESSAGE, ERROR   msgpack (wire.py)
  TENSOR           0 slot u32    4 generation u32   8 data bytes u64    16 dtype u8   17 framework u8   18 dimensions u8
                  19 zero       24 each dimension u64, padded to 16     then the data, if slot is INLINE
  FRAGMENT         0 index u32   4 count u32        8 total bytes u64   16 kind u8    17 zero
                  24 the next bytes of a body of `total` bytes and of that kind
  END              0 final sequence u64: how many records came before

A message is a MESSAGE, ERROR or END record and the TENSOR records behind it; FIRST and LAST mark its ends. Sequences
count records from 0 without a gap, whatever their message. A FIRST before the LAST of the message in progress means
that its writer gave up half-way, and was told so: the reader drops that half.
"""

from __future__ import annotations

import enum
import struct
from typing import NamedTuple

from omni_ipc.errors import FormatError

MAGIC = b"omni_ipc"
VERSION = 1
LINE_BYTES = 128
ALIGNMENT = 8

WRITE_POSITION, RECORDS_WRITTEN = 16, 17  # word indices: offsets / 8
READ_POSITION, RECORDS_TAKEN = 32, 33
WRITER_PARKED = 48
READER_PARKED = 16  # in a doorbell
RING_OFFSET = 4 * LINE_BYTES
DOORBELL_BYTES = 2 * LINE_BYTES

SMALLEST_RING_BYTES = 256  # a quarter holds one fragment with data

RECORD = struct.Struct("<IBBHQ")
TENSOR = struct.Struct("<IIQBBB5x")
FRAGMENT = struct.Struct("<IIQB7x")
END = struct.Struct("<Q")

FIRST, LAST = 1, 2  # flags of a record
INLINE = 0xFFFF_FFFF  # as a tensor's slot: its data follow in the record

_HEADER = struct.Struct("<8sIIQQQQ")
_SIGNATURE = struct.Struct("<QQ")
_SIGNATURE_OFFSET = 32


class SegmentKind(enum.IntEnum):
    """What a segment is."""

    LANE = 1
    DOORBELL = 2


class Kind(enum.IntEnum):
    """What a record is."""

    MESSAGE = 1
    TENSOR = 2
    FRAGMENT = 3
    ERROR = 4
    END = 5


HEADS = (Kind.MESSAGE, Kind.ERROR, Kind.END)  # the kinds that a message may begin with
_KINDS = {kind.value: kind for kind in Kind}


class Header(NamedTuple):
    """What a segment says of itself."""

    kind: SegmentKind
    ring_bytes: int
    epoch: int
    writer_pid: int = 0  # 0 until the writer has attached
    writer_start: int = 0  # clock ticks since boot: with the pid it names one process for ever

    def lay(self, buffer: memoryview) -> None:
        """Write the header at the start of a segment."""
        _HEADER.pack_into(buffer, 0, MAGIC, VERSION, *self)

    @staticmethod
    def sign(buffer: memoryview, pid: int, start: int) -> None:
        """Name the process that writes."""
        _SIGNATURE.pack_into(buffer, _SIGNATURE_OFFSET, pid, start)

    @classmethod
    def read(cls, buffer: memoryview, kind: SegmentKind, name: str) -> Header:
        """Read and check the header of a segment.

        Raises:
            FormatError: the segment is too small, not ours, of another version, kind or geometry.
        """
        expected_bytes = RING_OFFSET if kind is SegmentKind.LANE else DOORBELL_BYTES
        _check(name, "size", buffer.nbytes, f"at least {expected_bytes}", buffer.nbytes >= expected_bytes)
        magic, version, found, ring_bytes, epoch, pid, start = _HEADER.unpack_from(buffer)
        _check(name, "magic", magic, MAGIC, magic == MAGIC)
        _check(name, "version", version, VERSION, version == VERSION)
        _check(name, "kind", found, kind.value, found == kind)
        if kind is SegmentKind.LANE:
            fits = is_ring_size(ring_bytes) and RING_OFFSET + ring_bytes == buffer.nbytes
            _check(name, "ring bytes", ring_bytes, f"{buffer.nbytes - RING_OFFSET}, a power of two", fits)
        return cls(kind, ring_bytes, epoch, pid, start)


def kind_of(code: int) -> Kind:
    """Give the kind behind a code.

    Raises:
        FormatError: no kind has this code.
    """
    if code not in _KINDS:
        raise FormatError(f"kind: no record has the code {code}. Do both sides run the same omni_ipc?")
    return _KINDS[code]


def is_ring_size(nbytes: int) -> bool:
    """Tell whether a ring may have this many bytes."""
    return nbytes >= SMALLEST_RING_BYTES and nbytes & (nbytes - 1) == 0


def padded(nbytes: int, alignment: int = ALIGNMENT) -> int:
    """Round up to a multiple of the alignment."""
    return -nbytes % alignment + nbytes


def _check(name: str, field: str, found: object, expected: object, holds: bool) -> None:
    if not holds:
        raise FormatError(
            f"Segment '{name}', header, {field}: found {found!r}, expected {expected!r}. "
            "The descriptor is another one, or the two sides run different versions of omni_ipc."
        )
