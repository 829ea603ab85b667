"""The memory of a lane: words for positions, bytes for records.

A lane is strictly one writer context to one reader; nothing in it is shared between writers, so nothing needs a lock.
"""

from __future__ import annotations

from typing import NamedTuple

from omni_ipc.errors import FormatError, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.assembly import MAX_MESSAGE_BYTES
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.layout import (
    ALIGNMENT,
    READ_POSITION,
    RECORDS_TAKEN,
    RECORDS_WRITTEN,
    RING_OFFSET,
    SMALLEST_RING_BYTES,
    WRITE_POSITION,
    WRITER_PARKED,
    Header,
    SegmentKind,
    Side,
    Signature,
    is_ring_size,
)
from omni_ipc.transport.liveness import this_process

RING_BYTES = 8 << 20


class Counts(NamedTuple):
    """How many records were published, and how many of them were taken.

    A writer that was killed may have counted what it was about to publish.
    """

    written: int
    taken: int


def lane_bytes(ring_bytes: int = RING_BYTES) -> int:
    """Bytes of the buffer that a lane with such a ring needs; the ring is a power of two, 256 bytes or more."""
    return RING_OFFSET + ring_bytes


class Lane:
    """A ring of bytes over a buffer: a segment's view, or in a controlled world any memory at all."""

    def __init__(
        self, *, rt: Runtime, buffer: memoryview, name: str, max_message_bytes: int = MAX_MESSAGE_BYTES
    ) -> None:
        """Open a lane that was laid into the buffer.

        Raises:
            FormatError: the buffer holds no lane of this version and geometry.
        """
        header = Header.read(buffer, SegmentKind.LANE, name)
        self.rt = rt
        self.name = name
        self.epoch = header.epoch
        self.ring_bytes = header.ring_bytes
        self.max_message_bytes = max_message_bytes
        self.words = rt.words(buffer)
        self.room_bell = Bell(rt, self.words, WRITER_PARKED)
        self._buffer = buffer

    @classmethod
    def create(
        cls,
        *,
        rt: Runtime,
        buffer: memoryview,
        name: str,
        epoch: int = 0,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> Lane:
        """Lay a lane into a zero-filled buffer of `lane_bytes`, before the other side hears of it."""
        ring_bytes = buffer.nbytes - RING_OFFSET
        if not is_ring_size(ring_bytes):
            raise UsageError(
                f"Lane '{name}' got {buffer.nbytes} bytes. "
                f"Give it lane_bytes(n), with n a power of two and {SMALLEST_RING_BYTES} or more."
            )
        Header(SegmentKind.LANE, ring_bytes, epoch).lay(buffer)
        return cls(rt=rt, buffer=buffer, name=name, max_message_bytes=max_message_bytes)

    def counts(self) -> Counts:
        """Count records on both sides; once the reader has taken END, both numbers are equal, or something was lost."""
        return Counts(self.words.load(RECORDS_WRITTEN), self.words.load(RECORDS_TAKEN))

    def room(self) -> int:
        """Bytes that the writer may write now.

        Raises:
            FormatError: the two positions cannot both be true.
        """
        used = self.words.load(WRITE_POSITION) - self.words.load(READ_POSITION)  # SYNC lane.consume
        if not 0 <= used <= self.ring_bytes or used % ALIGNMENT:
            raise FormatError(f"Lane '{self.name}', positions: {used} bytes in use, of a ring of {self.ring_bytes}.")
        return self.ring_bytes - used

    def sign(self, side: Side) -> None:
        """Name this process as the writer, or as the reader, in the header.

        Raises:
            UsageError: the lane has one.
        """
        signed = self.signature(side)
        if signed is not None:
            name = side.name.lower()
            raise UsageError(
                f"Lane '{self.name}' has a {name} already, process {signed.pid}, and takes no second one. "
                f"Create a lane for each {name}."
            )
        Header.sign(self._buffer, side, this_process())

    def signature(self, side: Side) -> Signature | None:
        """Tell which process writes, or reads; None if none has attached yet."""
        return Header.signature(self._buffer, side)

    def write(self, position: int, data: bytes | bytearray | memoryview) -> int:
        """Copy bytes into the ring, around its end if need be, and return the position behind them."""
        start, nbytes = position & (self.ring_bytes - 1), len(data)
        fits = self.ring_bytes - start
        if nbytes <= fits:
            self.words.write(RING_OFFSET + start, data)
        else:
            self.words.write(RING_OFFSET + start, data[:fits])
            self.words.write(RING_OFFSET, data[fits:])
        return position + nbytes

    def read(self, position: int, nbytes: int) -> bytearray:
        """Copy bytes out of the ring."""
        start = position & (self.ring_bytes - 1)
        fits = self.ring_bytes - start
        if nbytes <= fits:
            return self.words.read(RING_OFFSET + start, nbytes)
        return self.words.read(RING_OFFSET + start, fits) + self.words.read(RING_OFFSET, nbytes - fits)
