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
                self._fill(self._slab, rt, deadline)
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

    def _fill(self, slab: Slab, rt: Runtime, deadline: float) -> None:
        patience: float | None = None  # until when to wait; the clock is asked only by who waits
        for parcel in self._parcels(min(PARCEL_BYTES, slab.geometry.largest_bytes)):
            nbytes = sum([padded(source.nbytes, PLACE_ALIGNMENT) for _, source in parcel])
            if nbytes > slab.geometry.largest_bytes:
                continue
            loan = _lend(slab, nbytes, 0.0, last=False)
            if loan is None and slab.may_come(nbytes):  # else other tensors of this message have them all
                patience = patience or min(deadline, rt.now() + PATIENCE_S)
                loan = _lend(slab, nbytes, patience - rt.now(), last=patience == deadline)
            if loan is not None:
                self.loans.append(loan)
                self._copy(parcel, loan)

    def _copy(self, parcel: list[tuple[int, Source]], loan: Loan) -> None:
        view, offset = loan.view, 0
        for index, source in parcel:
            data = view[offset : offset + source.nbytes]
            source.copy_to(data)
            place = Place(loan.slot, loan.generation, offset)
            self._tensors[index] = Tensor(source.framework, source.dtype, source.shape, data, place)
            offset += padded(source.nbytes, PLACE_ALIGNMENT)

    def _parcels(self, parcel_bytes: int) -> Iterator[list[tuple[int, Source]]]:
        """Say which tensors go to the slab, slot by slot, the largest first."""
        parcel: list[tuple[int, Source]] = []
        filled = 0
        for index, source in self._leaving():
            nbytes = padded(source.nbytes, PLACE_ALIGNMENT)
            if nbytes > min(SHARED_SLOT_BYTES, parcel_bytes):
                yield [(index, source)]
                continue
            if filled + nbytes > parcel_bytes:
                yield parcel
                parcel, filled = [], 0
            parcel.append((index, source))
            filled += nbytes
        if parcel:
            yield parcel

    def _leaving(self) -> Iterator[tuple[int, Source]]:
        """Say which tensors do not travel inline: the largest first, until the rest is within the budget."""
        sources = [(index, source) for index, source in enumerate(self._sources) if isinstance(source, Source)]
        if len(sources) > 1:
            sources.sort(key=lambda each: each[1].nbytes, reverse=True)
        rest = sum([source.nbytes for _, source in sources])
        for index, source in sources:
            if source.nbytes <= INLINE_TENSOR_BYTES and rest <= INLINE_MESSAGE_BYTES:
                return
            rest -= source.nbytes
            yield index, source


def _lend(slab: Slab, nbytes: int, timeout: float, *, last: bool) -> Loan | None:
    """Lend a slot; None if none comes free.

    Raises:
        Full: there was none, and this was the last time to ask.
    """
    try:
        return slab.loan(nbytes, timeout=max(0.0, timeout))
    except Full:
        if last:
            raise
        return None
