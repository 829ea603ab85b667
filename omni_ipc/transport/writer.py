"""The writing end of a lane: claim a place, write behind everybody's back, publish with one store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from omni_ipc.errors import Full, UsageError
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.framing import Record, cut
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.layout import END, RECORD, RECORDS_WRITTEN, WRITE_POSITION, Kind, padded
from omni_ipc.transport.tensor import Tensor


class _Claim(NamedTuple):
    position: int
    sequence: int


class LaneWriter:
    """One writer context: a thread that sends on this lane, and no other thread does.

    Claim and publish are two steps, and between them nothing is held: a second writer on the lane would claim the same
    place. That is why there is none; give each thread a lane of its own. A second writer that attaches is refused, and
    so is a second thread that is met in the middle of a send; one that always comes between sends is not seen.
    """

    def __init__(self, lane: Lane, *, doorbell: Bell | None = None) -> None:
        """Attach as the writer.

        Args:
            lane: the lane.
            doorbell: of the port that reads it; None if its reader never sleeps.

        Raises:
            UsageError: the lane has a writer.
        """
        self._sign(lane)
        self.name = lane.name
        self.lane = lane
        self._rt = lane.rt
        self._words = lane.words
        self._doorbell = doorbell
        self._batch_bytes = lane.ring_bytes // 4
        self._sending = False
        self._closed = False

    def send(self, body: bytes, tensors: Sequence[Tensor] = (), *, timeout: float, kind: Kind = Kind.MESSAGE) -> None:
        """Publish a message; the sender's memory is free for other use on return.

        A message of at most a quarter of the ring becomes visible at once, with its tensors; a larger one record by
        record, and counts only when its last one is there.

        Args:
            body: of a MESSAGE or an ERROR; may be empty.
            tensors: what travels beside it.
            timeout: seconds to wait for room, in all.
            kind: MESSAGE or ERROR.

        Raises:
            Full: no room came free in time; the reader will see nothing of the message.
            UsageError: the lane is closed, or the message is larger than its reader takes.

        Points: Writer.Claim and Writer.Publish, each once a batch.
        """
        records = [Record(kind, b"", memoryview(body))]
        records += [Record(Kind.TENSOR, tensor.head(), tensor.data) for tensor in tensors]
        nbytes = sum(record.body_bytes for record in records)
        if nbytes > self.lane.max_message_bytes:
            raise UsageError(
                f"Lane '{self.name}': a message of {nbytes:,} bytes; its reader takes {self.lane.max_message_bytes:,}. "
                "Send it in parts, or raise max_message_bytes on both sides."
            )
        self._send(records, timeout)

    def close(self, timeout: float) -> None:
        """Say that nothing more will come, with the number of records before; idempotent.

        Raises:
            Full: no room came free in time; the lane is still open.
        """
        if not self._closed:
            final = self._words.load(RECORDS_WRITTEN)
            self._send([Record(Kind.END, END.pack(final), memoryview(b""))], timeout)
            self._closed = True

    def _send(self, records: list[Record], timeout: float) -> None:
        if self._closed:
            raise UsageError(f"Lane '{self.name}' is closed: nothing can be sent on it. Open another lane.")
        if self._sending:
            raise UsageError(
                f"Two threads send on lane '{self.name}' at once, and it has one writer. Give each a lane of its own."
            )
        self._sending = True
        try:
            deadline = self._rt.now() + timeout
            for batch in cut(records, self._batch_bytes):
                claim = self._claim(sum(record.nbytes for record in batch), deadline)
                self._publish(claim, batch)
        finally:
            self._sending = False

    def _sign(self, lane: Lane) -> None:
        lane.sign()

    def _claim(self, nbytes: int, deadline: float) -> _Claim:
        """Find the place for the next records, once there is room.

        Spec: WriterClaim
        """
        while True:
            with self._rt.region("Writer.Claim", lane=self.name):
                room = self.lane.room()
                claim = _Claim(self._words.load(WRITE_POSITION), self._words.load(RECORDS_WRITTEN))
            if nbytes <= room:
                return claim
            self._await_room(nbytes, deadline)

    def _await_room(self, nbytes: int, deadline: float) -> None:
        while (room := self.lane.room()) < nbytes:
            remaining = deadline - self._rt.now()
            if remaining <= 0:
                raise Full(
                    f"Lane '{self.name}' has {room:,} of {self.lane.ring_bytes:,} bytes free, and a record needs "
                    f"{nbytes:,}: its reader took nothing in time. Wait longer, or look at the reader."
                )
            self.lane.room_bell.sleep_unless(lambda: self.lane.room() >= nbytes, remaining)

    def _publish(self, claim: _Claim, batch: Sequence[Record]) -> None:
        """Write records to their place, and move the write position behind them.

        Spec: WriterPublish
        """
        with self._rt.region("Writer.Publish", lane=self.name, position=claim.position):
            position, sequence = claim
            for record in batch:
                head = RECORD.pack(record.body_bytes, record.kind, record.flags, 0, sequence) + record.head
                position = padded(self.lane.write(self.lane.write(position, head), record.data))
                sequence += 1
            self._words.store(RECORDS_WRITTEN, sequence)
            self._words.store(WRITE_POSITION, position)  # SYNC lane.publish
            if self._doorbell is not None:
                self._doorbell.ring()
