"""The reading end of a lane: look, take, check, give the room back."""

from __future__ import annotations

import functools
from collections.abc import Callable

from omni_ipc.errors import FormatError, LaneBroken, OmniError, PeerClosed, PeerDied
from omni_ipc.transport import liveness
from omni_ipc.transport.assembly import Assembly, Message
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.layout import (
    ALIGNMENT,
    FIRST,
    LAST,
    READ_POSITION,
    READER_CLOSED,
    RECORD,
    RECORD_BYTES,
    RECORDS_TAKEN,
    WRITE_POSITION,
    Kind,
    Side,
    kind_of,
)
from omni_ipc.transport.lease import SlabReader

_MOST_FLAGS = FIRST | LAST
_END = Kind.END
_READ_AT_ONCE_BYTES = 256  # a header, and the whole of a small record
_MOST_RECORDS = 1 << 63  # by far; counts must not overflow


class LaneReader:
    """The one reader of a lane.

    It trusts nothing in the ring: its own position and sequence live here, each record is copied out once and checked
    on the copy. What fails a check stays where it is, and every later take fails alike: a broken lane skips nothing.
    """

    def __init__(self, lane: Lane, *, slab: SlabReader | None = None) -> None:
        """Attach as the reader.

        Args:
            lane: the lane.
            slab: of the process that writes to it; None if its tensors all travel inline.

        Raises:
            UsageError: the lane has a reader.
            FormatError: the lane says that more records were taken from it than can be.
        """
        lane.sign(Side.READER)
        self.name = lane.name
        self.lane = lane
        self._rt = lane.rt
        self._words = lane.words
        self._position = lane.words.load(READ_POSITION)
        self._sequence = lane.words.load(RECORDS_TAKEN)
        if self._sequence >= _MOST_RECORDS:
            raise FormatError(f"Lane '{lane.name}', records taken: {self._sequence}. Was it laid by this omni_ipc?")
        self._seen = self._position  # the write position when it was last looked at
        self._assembly = Assembly(lane.max_message_bytes, slab)
        self._end: Callable[[], OmniError] | None = None  # a kept exception would keep whoever met it alive

    @property
    def abandoned(self) -> int:
        """Messages whose writer met `Full` half-way, and that were dropped therefore."""
        return self._assembly.abandoned

    @property
    def has_more(self) -> bool:
        """Tell whether a take would change something, by what was seen before: memory is not asked."""
        return self._seen != self._position or self._end is not None

    def ready(self) -> bool:
        """Tell whether a take would change anything."""
        if self._seen != self._position or self._end is not None:
            return True
        self._seen = self._words.load(WRITE_POSITION)  # SYNC lane.publish
        return self._seen != self._position

    def take(self) -> Message | None:
        """Take the next message, or return None when none is whole yet.

        Raises:
            See `take_many`.

        Points: Reader.Take, once a batch.
        """
        messages = self.take_many(1)
        return messages[0] if messages else None

    def take_many(self, most: int) -> list[Message]:
        """Take the next messages, as many as are whole; none if none is.

        Raises:
            PeerClosed: the writer has closed the lane, and everything before was taken.
            PeerDied: `look_at_writer` found it dead, and everything that it had published was taken.
            LaneBroken: the bytes in the ring disagree with the format; the message says where.

        Points: Reader.Take, once a batch.
        """
        while self.ready():
            if self._end is not None:
                raise self._end()
            if messages := self._take(most):
                return messages
        return []

    def look_at_writer(self) -> None:
        """Look whether the writer has died; if so, the take behind its last message raises `PeerDied`."""
        writer = self.lane.signature(Side.WRITER)
        if self._end is not None or writer is None or (how := liveness.ending(writer)) is None:
            return
        if not self.ready():  # looked at after the death: nothing more will come
            last = self._sequence - 1 if self._sequence else None
            who = f"The writer of lane '{self.name}', process {writer.pid},"
            self._end = functools.partial(PeerDied, who, how, last)

    def close(self) -> None:
        """Take nothing more: a writer that waits for room, or for the acknowledgement, learns so. Idempotent."""
        with self._rt.region("Reader.Close", lane=self.name):
            self._words.store(READER_CLOSED, 1)
            self.lane.room_bell.ring()

    def _take(self, most: int) -> list[Message]:
        """Copy out what is published, as far as ``most`` messages go, and give its room back.

        Spec: ReaderTake
        """
        messages: list[Message] = []
        with self._rt.region("Reader.Take", lane=self.name):
            try:
                self._collect(messages, most)
            except FormatError as error:
                self._end = functools.partial(LaneBroken, f"Lane '{self.name}', record {self._sequence}, {error}")
                if not messages:
                    raise self._end() from None
            self._words.store(RECORDS_TAKEN, self._sequence)
            self._words.store(READ_POSITION, self._position)  # SYNC lane.consume
            self.lane.room_bell.ring()
        return messages

    def _collect(self, messages: list[Message], most: int) -> None:
        """Take records up to the end of so many messages, of the lane, or of what is published."""
        end = self._seen
        if not 0 < end - self._position <= self.lane.ring_bytes or end % ALIGNMENT:
            raise FormatError(f"write position: {end} cannot follow {self._position}.")
        feed = self._assembly.feed
        while self._position < end and len(messages) < most and self._end is None:
            kind, flags, body = self._record(end - self._position)
            message = feed(kind, flags, self._sequence, body)
            self._position += (RECORD_BYTES + len(body) + ALIGNMENT - 1) & -ALIGNMENT
            self._sequence += 1
            if message is None:
                continue
            if message.kind is _END:
                told = f"Lane '{self.name}' was closed by its writer, after {message.sequence} records."
                self._end = functools.partial(PeerClosed, told)
            else:
                messages.append(message)

    def _record(self, available: int) -> tuple[Kind, int, bytearray]:
        if available < RECORD_BYTES:
            raise FormatError(f"header: {available} bytes are published, and it takes {RECORD_BYTES}.")
        read_bytes = available if available < _READ_AT_ONCE_BYTES else _READ_AT_ONCE_BYTES
        start = self.lane.read(self._position, read_bytes)
        length, code, flags, zero, sequence = RECORD.unpack_from(start)
        if sequence != self._sequence:
            raise FormatError(f"sequence: found {sequence}. Two writers on one lane, or a record was overwritten.")
        if flags > _MOST_FLAGS or zero:
            raise FormatError(f"flags: {flags}, and {zero} in the reserved field: unknown here.")
        end = RECORD_BYTES + length
        if end > available:  # which is a multiple of 8
            raise FormatError(
                f"length: {length} bytes, and {available - RECORD_BYTES} are published behind the header."
            )
        if end <= read_bytes:
            return kind_of(code), flags, start[RECORD_BYTES:end]
        return kind_of(code), flags, self.lane.read(self._position + RECORD_BYTES, length)
