"""Byte layouts of the shared segments: every offset, width and code that two processes must agree on.

All numbers are little-endian. What each side writes lies on 128-byte lines of its own, so that the sides never fight
over a cache line, nor over its neighbour that the processor prefetches.

Lane: one writer, one reader               Doorbell: any number of writers, one reader
      0  header                                  0  header
    128  write position, records written       128  reader parked
    256  read position, records taken, reader closed
    384  writer parked
    512  ring: a power of two bytes

Header, laid once, before the descriptor travels; writer and reader of a lane sign it when they attach
      0  magic "omni_ipc"        8  layout version u32     12  segment kind u32
     16  ring bytes u64         24  epoch u64              32  writer pid u64     40  its start time u64
                                                           48  reader pid u64     56  its start time u64
     64  of a doorbell: how its sleeper is woken, u64: by futex 0, by eventfd too 1

Positions count bytes since the lane was laid, u64, and never go back; the offset in the ring is position % ring bytes.

Record: 8-byte aligned; may wrap around the end of the ring
      0  body length u32    4  kind u8    5  flags u8    6  zero u16    8  sequence u64    16  body, padded to 8

Bodies
  MESSAGE, ERROR   msgpack (wire.py)
  TENSOR           0 slot u32    4 generation u32   8 data bytes u64    16 dtype u8   17 framework u8   18 dimensions u8
                  19 zero       20 place in the slot / 64 u32           24 each dimension u64, padded to 16
                  then the data, if slot is INLINE; else they lie in that slot of the lane's slab (geometry.py)
  FRAGMENT         0 index u32   4 count u32        8 total bytes u64   16 kind u8    17 zero
                  24 the next bytes of a body of `total` bytes and of that kind
  END              0 final sequence u64: how many records came before

A message is a MESSAGE, ERROR or END record and the TENSOR records behind it, or one TENSOR record alone, as a MESSAGE
with nothing in its body; FIRST and LAST mark its ends. Sequences count records from 0 without a gap, whatever their
message. A FIRST before the LAST of the message in progress means that its writer gave up half-way, and was told so: the
reader drops that half.
"""

from __future__ import annotations

import enum
import struct
from typing import NamedTuple

from omni_ipc.errors import FormatError

MAGIC = b"omni_ipc"
VERSION = 3
LINE_BYTES = 128
ALIGNMENT = 8

WRITE_POSITION, RECORDS_WRITTEN = 16, 17  # word indices: offsets / 8
READ_POSITION, RECORDS_TAKEN, READER_CLOSED = 32, 33, 34
WRITER_PARKED = 48
WAKING, READER_PARKED = 8, 16  # in a doorbell
RING_OFFSET = 4 * LINE_BYTES
DOORBELL_BYTES = 2 * LINE_BYTES

SMALLEST_RING_BYTES = 256  # a quarter holds one fragment with data

RECORD = struct.Struct("<IBBHQ")
RECORD_BYTES = RECORD.size
TENSOR = struct.Struct("<IIQBBBxI")
FRAGMENT = struct.Struct("<IIQB7x")
END = struct.Struct("<Q")

FIRST, LAST = 1, 2  # flags of a record
INLINE = 0xFFFF_FFFF  # as a tensor's slot: its data follow in the record

_HEADER = struct.Struct("<8sIIQQQQQQ")
_SIGNATURE = struct.Struct("<QQ")


class SegmentKind(enum.IntEnum):
    """What a segment is."""

    LANE = 1
    DOORBELL = 2
    SLAB = 3


class Side(enum.IntEnum):
    """An end of a lane, and where in the header it signs."""

    WRITER = 32
    READER = 48


class Signature(NamedTuple):
    """One process for ever: its id may be given again, its id and start time may not."""

    pid: int
    start: int  # clock ticks since boot


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
    writer: Signature | None = None  # None until it has attached
    reader: Signature | None = None

    def lay(self, buffer: memoryview) -> None:
        """Write the header at the start of a segment; nobody has signed it yet."""
        _HEADER.pack_into(buffer, 0, MAGIC, VERSION, self.kind, self.ring_bytes, self.epoch, 0, 0, 0, 0)

    @staticmethod
    def sign(buffer: memoryview, side: Side, signature: Signature) -> None:
        """Name the process that attaches."""
        _SIGNATURE.pack_into(buffer, side, *signature)

    @staticmethod
    def signature(buffer: memoryview, side: Side) -> Signature | None:
        """Read who has attached; only as true as that process says."""
        signature = Signature(*_SIGNATURE.unpack_from(buffer, side))
        return signature if signature.pid else None

    @classmethod
    def read(cls, buffer: memoryview, kind: SegmentKind, name: str) -> Header:
        """Read and check the header of a segment.

        Raises:
            FormatError: the segment is too small, not ours, of another version, kind or geometry.
        """
        expected_bytes = DOORBELL_BYTES if kind is SegmentKind.DOORBELL else RING_OFFSET
        _check(name, "size", buffer.nbytes, f"at least {expected_bytes}", buffer.nbytes >= expected_bytes)
        magic, version, found, ring_bytes, epoch, *_ = _HEADER.unpack_from(buffer)
        _check(name, "magic", magic, MAGIC, magic == MAGIC)
        _check(name, "version", version, VERSION, version == VERSION)
        _check(name, "kind", found, kind.value, found == kind)
        if kind is SegmentKind.LANE:
            fits = is_ring_size(ring_bytes) and RING_OFFSET + ring_bytes == buffer.nbytes
            _check(name, "ring bytes", ring_bytes, f"{buffer.nbytes - RING_OFFSET}, a power of two", fits)
        return cls(kind, ring_bytes, epoch, cls.signature(buffer, Side.WRITER), cls.signature(buffer, Side.READER))


def kind_of(code: int) -> Kind:
    """Give the kind behind a code.

    Raises:
        FormatError: no kind has this code.
    """
    kind = _KINDS.get(code)
    if kind is None:
        raise FormatError(f"kind: no record has the code {code}. Do both sides run the same omni_ipc?")
    return kind


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
