"""One message on every lane, or on none; its slots belong to the readers once it is there.

each piece:  room on every lane? ── in time ──► publish it on each ──► the next; the last hands the loans to the readers
                    │
                    └─ never: Full. No reader sees a message without its last piece, and the loans are as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from omni_ipc.errors import Full, PeerError, UsageError
from omni_ipc.transport.framing import cut, message_records
from omni_ipc.transport.layout import Kind
from omni_ipc.transport.tensor import Sendable

if TYPE_CHECKING:
    from omni_ipc.transport.writer import LaneWriter


class Lent(Protocol):
    """A loan, as far as sending goes."""

    def settle(self) -> None: ...
    def hand_over(self, readers: Sequence[int]) -> None: ...


def publish(
    writers: Sequence[LaneWriter], body: bytes, tensors: Sequence[Sendable], loans: Sequence[Lent], timeout: float
) -> None:
    """Send a message on each of the lanes, whose readers share the slots of ``loans``.

    Raises:
        Full: a lane had no room in time; no reader sees anything, and the loans are as before.
        PeerDied, PeerClosed: a lane's reader takes no more; likewise. Drop its lane, and send to the others.
        UsageError: two lanes have one reader, or a lane is closed, or its reader would not take so much; likewise.
    """
    readers = writers[0].slab_readers if len(writers) == 1 else _different(writers)
    for loan in loans:
        loan.settle()
    try:
        if len(writers) == 1:
            writers[0].send(body, tensors, timeout=timeout)
        else:
            _send_to_all(writers, body, tensors, timeout)
    except (Full, PeerError, UsageError):  # as all these say of themselves, nothing was visible
        raise
    except BaseException:  # a reader may have seen the message: better a slot lost than one that changes under it
        for loan in loans:
            loan.hand_over(readers)
        raise
    for loan in loans:
        loan.hand_over(readers)


def _different(writers: Sequence[LaneWriter]) -> tuple[int, ...]:
    readers = tuple([reader for writer in writers for reader in writer.slab_readers])
    if not readers or len(set(readers)) < len(readers):
        raise UsageError(
            f"A broadcast to the slab's readers {list(readers)}. Give one lane or more, each to another reader: "
            "LaneWriter(..., slab_reader=n)."
        )
    return readers


def _send_to_all(writers: Sequence[LaneWriter], body: bytes, tensors: Sequence[Sendable], timeout: float) -> None:
    """Send piece by piece: what is within a quarter of the smallest ring is one, and all there is at once."""
    now = writers[0].lane.rt.now
    deadline = now() + timeout
    records = message_records(Kind.MESSAGE, body, tensors)
    for writer in writers:
        writer.check_size(records)
    for piece in cut(records, min([writer.batch_bytes for writer in writers])):
        for writer in writers:  # room only grows while its one writer stands here
            writer.await_room(piece, timeout=deadline - now())
        for writer in writers:
            writer.publish(piece)
