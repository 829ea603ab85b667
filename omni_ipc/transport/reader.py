"""The reading end of a lane: look, take, check, give the room back."""

from __future__ import annotations

from omni_ipc.errors import FormatError, PeerClosed
from omni_ipc.transport.framing import Assembly, Message
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.layout import (
    ALIGNMENT,
    FIRST,
    LAST,
    READ_POSITION,
    RECORD,
    RECORDS_TAKEN,
    WRITE_POSITION,
    Kind,
    kind_of,
    padded,
)


class LaneReader:
    """The one reader of a lane.

    It trusts nothing in the ring: its own position and sequence live here, each record is copied out once and checked
    on the copy. What fails a check stays where it is, and every later take fails alike: a broken lane skips nothing.
    """

    def __init__(self, lane: Lane) -> None:
        self.name = lane.name
        self.lane = lane
        self._rt = lane.rt
        self._words = lane.words
        self._position = lane.words.load(READ_POSITION)
        self._sequence = lane.words.load(RECORDS_TAKEN)
        self._seen = self._position  # the write position when it was last looked at
        self._assembly = Assembly(lane.max_message_bytes)
        self._end: FormatError | PeerClosed | None = None

    @property
    def abandoned(self) -> int:
        """Messages whose writer met `Full` half-way, and that were dropped therefore."""
        return self._assembly.abandoned

    def ready(self) -> bool:
        """Tell whether a take would change anything."""
        if self._end is None and self._seen == self._position:
            self._seen = self._words.load(WRITE_POSITION)  # SYNC lane.publish
        return self._end is not None or self._seen != self._position

    def take(self) -> Message | None:
        """Take the next message, or return None when none is whole yet.

        Raises:
            PeerClosed: the writer has closed the lane, and everything before was taken.
            FormatError: the bytes in the ring disagree with the format; the message says where.

        Points: Reader.Take, once a batch.
        """
        while self.ready():
            if self._end is not None:
                raise type(self._end)(*self._end.args)
            message = self._take()
            if message is None:
                continue
            if message.kind is not Kind.END:
                return message
            self._end = PeerClosed(f"Lane '{self.name}' was closed by its writer, after {message.sequence} records.")
        return None

    def _take(self) -> Message | None:
        """Copy out what is published, as far as one message goes, and give its room back.

        Spec: ReaderTake
        """
        with self._rt.region("Reader.Take", lane=self.name):
            try:
                self._seen = self._words.load(WRITE_POSITION)  # SYNC lane.publish
                message = self._take_records(self._seen)
            except FormatError as error:
                self._end = FormatError(f"Lane '{self.name}', record {self._sequence}, {error}")
                raise self._end from None
            self._words.store(RECORDS_TAKEN, self._sequence)
            self._words.store(READ_POSITION, self._position)  # SYNC lane.consume
            self.lane.room_bell.ring()
        return message

    def _take_records(self, end: int) -> Message | None:
        """Take records up to the end of a message, or of what is published."""
        if not 0 < end - self._position <= self.lane.ring_bytes or end % ALIGNMENT:
            raise FormatError(f"write position: {end} cannot follow {self._position}.")
        message = None
        while message is None and self._position < end:
            kind, flags, body = self._record(end - self._position)
            message = self._assembly.feed(kind, flags, self._sequence, body)
            self._position += padded(RECORD.size + len(body))
            self._sequence += 1
        return message

    def _record(self, available: int) -> tuple[Kind, int, bytearray]:
        if available < RECORD.size:
            raise FormatError(f"header: {available} bytes are published, and it takes {RECORD.size}.")
        length, kind, flags, zero, sequence = RECORD.unpack(self.lane.read(self._position, RECORD.size))
        if sequence != self._sequence:
            raise FormatError(f"sequence: found {sequence}. Two writers on one lane, or a record was overwritten.")
        if flags & ~(FIRST | LAST) or zero:
            raise FormatError(f"flags: {flags}, and {zero} in the reserved field: unknown here.")
        if padded(RECORD.size + length) > available:
            raise FormatError(f"length: {length} bytes, and {available - RECORD.size} are published behind the header.")
        return kind_of(kind), flags, self.lane.read(self._position + RECORD.size, length)
