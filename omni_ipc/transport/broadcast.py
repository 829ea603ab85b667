"""One message on every lane, or on none; its slots belong to the readers from the moment on that it may be seen.

hold each slot for the readers ─► room on every lane? ─► publish on each ─► the loans are over
                                        │ no: Full
                                        └─► take the slots back: nothing was visible
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from omni_ipc.errors import Full, PeerError, UsageError
from omni_ipc.transport.tensor import Place, Tensor

if TYPE_CHECKING:
    from omni_ipc.transport.slab import Slab
    from omni_ipc.transport.writer import LaneWriter


class Sendable(Protocol):
    """A loan, as far as sending goes."""

    slab: Slab
    place: Place

    def settle(self) -> None: ...
    def hand_over(self) -> None: ...


def publish(
    writers: Sequence[LaneWriter], body: bytes, tensors: Sequence[Tensor], loans: Sequence[Sendable], timeout: float
) -> None:
    """Send a message on each of the lanes, whose readers share the slots of ``loans``.

    Raises:
        Full: a lane had no room in time; no reader sees anything, and the loans are as before.
        PeerDied, PeerClosed: a lane's reader takes no more; likewise. Drop its lane, and send to the others.
        UsageError: two lanes have one reader, or a lane refuses the message; likewise.
    """
    readers = tuple([writer.slab_reader for writer in writers])
    if len(readers) != 1 and (not readers or len(set(readers)) < len(readers)):
        raise UsageError(
            f"A broadcast to the slab's readers {list(readers)}. Give one lane or more, each to another reader: "
            "LaneWriter(..., slab_reader=n)."
        )
    for loan in loans:
        loan.settle()
    try:
        for loan in loans:
            loan.slab.hold(loan.place.slot, readers)
        _send(writers, body, tensors, timeout)
    except (Full, PeerError, UsageError):  # as all these say of themselves, nothing was visible
        for loan in loans:
            loan.slab.take_back(loan.place.slot)
        raise
    except BaseException:  # a reader may have seen the message: better a slot lost than one that changes under it
        for loan in loans:
            loan.hand_over()
        raise
    for loan in loans:
        loan.hand_over()


def _send(writers: Sequence[LaneWriter], body: bytes, tensors: Sequence[Tensor], timeout: float) -> None:
    if len(writers) > 1:
        now = writers[0].lane.rt.now
        deadline = now() + timeout
        for writer in writers:  # room only grows while its one writer stands here
            writer.await_room(body, tensors, timeout=deadline - now())
        timeout = 0
    for writer in writers:
        writer.send(body, tensors, timeout=timeout)
