"""Where each tensor of a message travels: inline in its record, in a slot of its own, or in a slot with others.

    sources, largest first ──┬─ over 4 KiB, or while what is left is over 128 KiB ──► the slab
                             └─ what stays ────────────────────────────────────────► inline

In the slab, a tensor over 16 KiB has a slot of its own, so that its memory comes back as soon as it is released;
smaller ones share slots. What finds no slot for long, or is larger than any, goes inline whatever its size: the lane
cuts it into fragments, and nothing is lost but time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omni_ipc.errors import Full
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.arrays import Source
from omni_ipc.transport.layout import padded
from omni_ipc.transport.loan import Loan
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.tensor import PLACE_ALIGNMENT, Place, Tensor

INLINE_TENSOR_BYTES = 4 << 10
INLINE_MESSAGE_BYTES = 128 << 10
SHARED_SLOT_BYTES = 16 << 10  # tensors up to this share slots
PARCEL_BYTES = 1 << 20  # and so many bytes of them a slot: one that is kept keeps no more from the slab

PATIENCE_S = 1.0
"""How long a send waits for readers to release a slot, before it sends by fragments."""


class Placement:
    """The tensors of one message, and the slots lent for them."""

    def __init__(self, sources: Sequence[Source | Loan], slab: Slab | None) -> None:
        self.loans: list[Loan] = []  # of this message alone; a caller's own loans stay the caller's until it is sent
        self._sources = sources
        self._slab = slab
        self._tensors: dict[int, Tensor] = {}

    def place(self, *, rt: Runtime, deadline: float) -> list[Tensor | Loan]:
        """Copy what shall travel in slots, and describe every tensor; if this fails, no slot stays lent.

        Raises:
            Full: the deadline passed while readers held every slot that would do.
        """
        try:
            if self._slab is not None:
                self._fill(self._slab, rt, min(deadline, rt.now() + PATIENCE_S), deadline)
            return [
                self._tensors.get(index) or (source if isinstance(source, Loan) else source.inline())
                for index, source in enumerate(self._sources)
            ]
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Give the slots back."""
        for loan in self.loans:
            loan.abort()

    def _fill(self, slab: Slab, rt: Runtime, patience: float, deadline: float) -> None:
        for parcel in self._parcels(min(PARCEL_BYTES, slab.geometry.largest_bytes)):
            sizes = [padded(self._source(index).nbytes, PLACE_ALIGNMENT) for index in parcel]
            loan = _lend(slab, sum(sizes), rt, patience, deadline)
            if loan is None:
                continue
            self.loans.append(loan)
            offset = 0
            for index, size in zip(parcel, sizes, strict=True):
                source = self._source(index)
                place = Place(loan.slot, loan.generation, offset)
                self._tensors[index] = source.copy_to(loan.view[offset : offset + source.nbytes], place)
                offset += size

    def _parcels(self, parcel_bytes: int) -> Iterator[list[int]]:
        """Say which tensors go to the slab, slot by slot, the largest first."""
        parcel: list[int] = []
        filled = 0
        for index in self._leaving():
            nbytes = padded(self._source(index).nbytes, PLACE_ALIGNMENT)
            if nbytes > min(SHARED_SLOT_BYTES, parcel_bytes):
                yield [index]
                continue
            if filled + nbytes > parcel_bytes:
                yield parcel
                parcel, filled = [], 0
            parcel.append(index)
            filled += nbytes
        if parcel:
            yield parcel

    def _leaving(self) -> Iterator[int]:
        """Say which tensors do not travel inline: the largest first, until the rest is within the budget."""
        sizes = {index: source.nbytes for index, source in enumerate(self._sources) if isinstance(source, Source)}
        rest = sum(sizes.values())
        for index in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if sizes[index] <= INLINE_TENSOR_BYTES and rest <= INLINE_MESSAGE_BYTES:
                return
            rest -= sizes[index]
            yield index

    def _source(self, index: int) -> Source:
        source = self._sources[index]
        assert isinstance(source, Source)
        return source


def _lend(slab: Slab, nbytes: int, rt: Runtime, patience: float, deadline: float) -> Loan | None:
    """Lend a slot; None if there is none for long, or none so large.

    Raises:
        Full: there was none until the deadline.
    """
    if nbytes > slab.geometry.largest_bytes:
        return None
    try:
        return slab.loan(nbytes, timeout=0)
    except Full:
        if not slab.may_come(nbytes):  # other tensors of this message have them all
            return None
    try:
        return slab.loan(nbytes, timeout=max(0.0, patience - rt.now()))
    except Full:
        if patience == deadline:
            raise
        return None
