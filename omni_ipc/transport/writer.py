"""The writing end of a lane: claim a place, write behind everybody's back, publish with one store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from omni_ipc.errors import Full, Timeout, UsageError
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.framing import (
    ONLY,
    Data,
    Record,
    as_one_record,
    body_bytes,
    cut,
    frame,
    message_records,
    ring_bytes,
)
from omni_ipc.transport.lane import Counts, Lane
from omni_ipc.transport.layout import (
    ALIGNMENT,
    END,
    RECORD,
    RECORD_BYTES,
    RECORDS_WRITTEN,
    WRITE_POSITION,
    Kind,
    Side,
)
from omni_ipc.transport.patience import Patience
from omni_ipc.transport.tensor import Sendable


class LaneWriter:
    """One writer context: a thread that sends on this lane, and no other thread does.

    Claim and publish are two steps, and between them nothing is held: a second writer on the lane would claim the same
    place. That is why there is none; give each thread a lane of its own. A second writer that attaches is refused, and
    so is a second thread that is met in the middle of a send; one that always comes between sends is not seen.
    """

    def __init__(self, lane: Lane, *, doorbell: Bell | None = None, slab_reader: int = 0) -> None:
        """Attach as the writer.

        Args:
            lane: the lane.
            doorbell: of the port that reads it; None if its reader never sleeps.
            slab_reader: which of the slab's readers reads this lane, if its tensors travel by a slab.

        Raises:
            UsageError: the lane has a writer.
        """
        self._sign(lane)
        self.name = lane.name
        self.lane = lane
        self._rt = lane.rt
        self._words = lane.words
        self.slab_readers = (slab_reader,)
        self._doorbell = doorbell
        self.batch_bytes = lane.ring_bytes // 4  # that are published at once, at most
        self._small_bytes = min(self.batch_bytes - RECORD_BYTES, lane.max_message_bytes)
        self._free_until = 0  # a position: as far as there was room when the read position was last looked at
        self._sending = False
        self._closed = False
        self._patience = Patience(lane)

    def send(
        self, body: bytes | bytearray, tensors: Sequence[Sendable] = (), *, timeout: float, kind: Kind = Kind.MESSAGE
    ) -> None:
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
            PeerDied: there is no room, and will be none, because the reader has died.
            PeerClosed: there is no room, and the reader has closed.
            UsageError: the lane is closed, or the message is larger than its reader takes.

        Points: Writer.Claim and Writer.Publish, each once a batch.
        """
        alone = as_one_record(kind, body, tensors)
        if alone is None or len(alone[1]) > self._small_bytes:
            self._send_records(message_records(kind, body, tensors), timeout)
            return
        if self._sending or self._closed:
            self._refuse()
        self._sending = True
        try:  # the same for the message that most are, in fewer steps
            kind, data = alone
            nbytes = len(data)
            position, sequence = self._claim((RECORD_BYTES + nbytes + ALIGNMENT - 1) & -ALIGNMENT, timeout)
            self._publish(position, (RECORD.pack(nbytes, kind, ONLY, 0, sequence) + data,), sequence + 1)
        finally:
            self._sending = False

    def send_many(self, bodies: Sequence[bytes | bytearray], *, timeout: float) -> None:
        """Publish messages together: all of them become visible at once, or none does.

        Args:
            bodies: of MESSAGEs without tensors; together at most a quarter of the ring.
            timeout: seconds to wait for room.

        Raises:
            See `send`.

        Points: Writer.Claim and Writer.Publish, each once.
        """
        records: list[Record] = [(Kind.MESSAGE, b"", body, ONLY) for body in bodies]
        self._check_fits(records)
        if len(max(bodies, key=len, default=b"")) > self.lane.max_message_bytes:
            for record in records:
                self.check_size([record])
        self._send([records], timeout)

    def await_room(self, records: Sequence[Record], *, timeout: float) -> None:
        """Wait until records can be published at once: as long as nothing else is sent, `publish` then does so.

        Raises:
            Full: no room came free in time.
            PeerDied, PeerClosed: see `send`.
            UsageError: the lane is closed.
        """
        if self._sending or self._closed:
            self._refuse()
        self._await_room(ring_bytes(records), self._rt.now() + timeout)

    def publish(self, records: Sequence[Record]) -> None:
        """Publish records for which there is room: a message, or the next piece of one that began with FIRST.

        Raises:
            Full: there is none.
            UsageError: the lane is closed.

        Points: Writer.Claim and Writer.Publish.
        """
        self._send((records,), 0)

    def check_size(self, records: Sequence[Record]) -> None:
        """Let no message begin that its reader would not take.

        Raises:
            UsageError: it is too large.
        """
        if (nbytes := body_bytes(records)) > self.lane.max_message_bytes:
            raise UsageError(
                f"Lane '{self.name}': a message of {nbytes:,} bytes; its reader takes {self.lane.max_message_bytes:,}. "
                "Send it in parts, or raise max_message_bytes on both sides."
            )

    def close(self, timeout: float) -> None:
        """Say that nothing more will come, with the number of records before; idempotent.

        The reader has not taken it yet on return: `join` waits for that.

        Raises:
            Full: no room came free in time; the lane is still open.
            PeerDied, PeerClosed: see `send`.
        """
        if not self._closed:
            final = self._words.load(RECORDS_WRITTEN)
            self._send([message_records(Kind.END, END.pack(final))], timeout)
            self._closed = True

    def join(self, timeout: float) -> Counts:
        """Wait, after the close, until the reader has taken everything: then sent equals received.

        Raises:
            Timeout: it has not, within ``timeout`` seconds; tells how many records are unread.
            PeerDied: the reader died before; tells which record it did not take.
            PeerClosed: the reader closed before.
            UsageError: this end is still open.
        """
        if not self._closed:
            raise UsageError(f"Lane '{self.name}' is still open, so its reader awaits more. Close it before the join.")
        return self.await_taken(timeout)

    def await_taken(self, timeout: float) -> Counts:
        """Wait until the reader has taken everything that was sent up to now; this thread sends nothing meanwhile.

        Raises:
            Timeout: it has not, within ``timeout`` seconds; tells how many records are unread.
            PeerDied, PeerClosed: see `join`.
        """
        if not self._patience.until(lambda: len(set(self.lane.counts())) == 1, self._rt.now() + timeout):
            written, taken = self.lane.counts()
            raise Timeout(
                f"Lane '{self.name}': its reader has not taken {written - taken} of {written} records within "
                f"{timeout:g} s. Wait longer, or look at the reader."
            )
        return self.lane.counts()

    def _check_fits(self, records: Sequence[Record]) -> None:
        if (nbytes := ring_bytes(records)) > self.batch_bytes:
            raise UsageError(
                f"Lane '{self.name}' cannot take {nbytes:,} bytes at once: {self.batch_bytes:,} at most. "
                "Send less at once, put tensors into a slab, or give the lane a larger ring."
            )

    def _send_records(self, records: list[Record], timeout: float) -> None:
        if ring_bytes(records) <= self._small_bytes:
            self._send((records,), timeout)
        else:
            self.check_size(records)
            self._send(cut(records, self.batch_bytes), timeout)

    def _send(self, batches: Sequence[Sequence[Record]], timeout: float) -> None:
        if self._sending or self._closed:
            self._refuse()
        self._sending = True
        try:
            deadline = self._rt.now() + timeout if len(batches) > 1 else None
            for batch in batches:
                left = timeout if deadline is None else deadline - self._rt.now()
                position, sequence = self._claim(ring_bytes(batch), left)
                self._publish(position, frame(batch, sequence), sequence + len(batch))
        finally:
            self._sending = False

    def _refuse(self) -> NoReturn:
        if self._closed:
            raise UsageError(f"Lane '{self.name}' is closed: nothing can be sent on it. Open another lane.")
        raise UsageError(
            f"Two threads send on lane '{self.name}' at once, and it has one writer. Give each a lane of its own."
        )

    def _sign(self, lane: Lane) -> None:
        lane.sign(Side.WRITER)

    def _claim(self, nbytes: int, timeout: float) -> tuple[int, int]:
        """Find position and sequence of the next record, once there is room for ``nbytes``.

        Spec: WriterClaim
        """
        deadline: float | None = None  # the clock is asked only by who waits
        while True:
            with self._rt.region("Writer.Claim", lane=self.name):
                position, sequence = self._words.load(WRITE_POSITION), self._words.load(RECORDS_WRITTEN)
                if position + nbytes > self._free_until:  # else the reader's cache line is left alone
                    self._free_until = position + self.lane.room()
            if position + nbytes <= self._free_until:
                return position, sequence
            deadline = self._rt.now() + timeout if deadline is None else deadline
            self._await_room(nbytes, deadline)

    def _await_room(self, nbytes: int, deadline: float) -> None:
        if not self._patience.until(lambda: self.lane.room() >= nbytes, deadline):
            raise Full(
                f"Lane '{self.name}' has {self.lane.room():,} of {self.lane.ring_bytes:,} bytes free, and a record "
                f"needs {nbytes:,}: its reader took nothing in time. Wait longer, or look at the reader."
            )

    def _publish(self, position: int, pieces: Sequence[Data], written: int) -> None:
        """Write records to their place, and move the write position behind them.

        Spec: WriterPublish
        """
        with self._rt.region("Writer.Publish", lane=self.name, position=position):
            end = position
            for piece in pieces:
                end = self.lane.write(end, piece)
            self._words.store(RECORDS_WRITTEN, written)
            self._words.store(WRITE_POSITION, (end + ALIGNMENT - 1) & -ALIGNMENT)  # SYNC lane.publish
            if self._doorbell is not None:
                self._doorbell.ring()
