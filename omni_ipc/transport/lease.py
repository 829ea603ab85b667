"""The reading end of a slab: read-only views of slots, and leases that give the slots back.

    TENSOR record (slot, generation) ──► SlabReader.lease ──► memoryview ──► array ──► view of the array ──► …
                                              │                    └──────── all of them keep one Hold alive
    release word (slot, reader) ◄── generation ┴─── Lease.release(), or the Hold's end: whichever comes first, once

Nothing but the reader writes to its release words, so no counter is shared, and a broadcast needs no more than a lane.
"""

from __future__ import annotations

import bisect
from collections import deque

from omni_ipc.errors import FormatError, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.geometry import SLOT_PARKED, Geometry
from omni_ipc.transport.hold import IN_SIZED_CLASSES, Hold, Windows
from omni_ipc.transport.liveness import this_process


class Lease(Hold):
    """A reader's hold on one slot.

    Released, the slot's bytes may change under every array that still looks at them: Python cannot take memory away
    from an array. What can be refused is refused (`view`), and a poisoned slab shows it.
    """

    __slots__ = IN_SIZED_CLASSES

    _owner: SlabReader

    @property
    def view(self) -> memoryview:
        """The slot's bytes; writable only because torch knows no read-only tensor, and never to be written.

        Raises:
            UsageError: the lease was released.
        """
        if not self._armed:
            raise UsageError(
                f"Slot {self.slot} was released, and may hold other data by now. Copy what you need before release()."
            )
        return self.memory()

    @property
    def released(self) -> bool:
        """Tell whether the slot was given back."""
        return not self._armed

    def release(self) -> None:
        """Give the slot back; idempotent. Without a call it goes back with the last array that looks at it.

        Points: Lease.Release.
        """
        with self._owner.rt.region("Lease.Release", slot=self.slot):
            self.now()


class SlabReader:
    """One reader's end of a slab, of any number of its threads."""

    def __init__(self, *, rt: Runtime, buffer: memoryview, name: str, reader: int = 0) -> None:
        """Open a slab that was laid into the buffer.

        Args:
            rt: this process's runtime.
            buffer: the slab's segment, as this process maps it.
            name: for messages.
            reader: which of the slab's readers this is; nobody else may be the same.

        Raises:
            FormatError: the buffer holds no slab of this version and geometry.
            UsageError: the slab has no such reader, or has it already.
        """
        self.geometry = Geometry.read(buffer, name)
        self.name = name
        self.reader = reader
        self._check_reader()
        self.rt = rt
        self._windows = Windows(Lease, buffer, self.geometry)
        self._slots = self.geometry.slots
        self._generation_words = self.geometry.generation_word(0)  # of slot 0; the others follow
        self.words = rt.words(buffer[: self.geometry.words_bytes])
        self._sign()
        self._ended: deque[tuple[int, int]] = deque()
        self._telling = rt.lock()

    def _check_reader(self) -> None:
        if not 0 <= self.reader < self.geometry.readers:
            raise UsageError(
                f"Slab '{self.name}' has {self.geometry.readers} readers, and none is {self.reader}. Count from 0."
            )

    def _sign(self) -> None:
        """Say which process this is, so that the writer need not wait for it for ever; it goes by the last word."""
        word, process = self.geometry.signature_word(self.reader), this_process()
        if pid := self.words.load(word + 1):
            raise UsageError(
                f"Slab '{self.name}' has its reader {self.reader} already, process {pid}. "
                "Give each reader a number of its own, and the slab more readers if need be."
            )
        self.words.store(word, process.start)
        self.words.store(word + 1, process.pid)  # SYNC slab.signature

    def lease(self, slot: int, generation: int) -> Lease:
        """Take hold of a slot that a record names.

        Raises:
            FormatError: there is no such slot, or it is on its way with another generation.
        """
        self._check_generation(slot, generation)
        return self._windows.hold(self, slot, generation)

    def locate(self, address: int, nbytes: int) -> tuple[int, int, int] | None:
        """Find bytes that this reader looks at, by their address: slot, generation, and offset in the slot.

        Returns:
            None, if they do not lie in a slot of this slab.

        Raises:
            UsageError: the slot was released, and may hold other data by now.
        """
        spans, offset = self.geometry.spans, address - self._windows.start
        slot = bisect.bisect_right(spans, offset, key=lambda span: span[0]) - 1
        if slot < 0 or not nbytes or offset + nbytes > sum(spans[slot]):
            return None
        generation = self.words.load(self._generation_words + slot)
        if not generation or self.words.load(self.geometry.release_word(slot, self.reader)) == generation:
            raise UsageError(f"Slot {slot} of slab '{self.name}' was released. Hand on what you still hold.")
        return slot, generation, offset - spans[slot][0]

    def _check_generation(self, slot: int, generation: int) -> None:
        if slot >= self._slots:
            raise FormatError(f"slot: {slot}, and slab '{self.name}' has {self._slots}.")
        current = self.words.load(self._generation_words + slot)  # SYNC slab.generation
        if not generation or current != generation:
            raise FormatError(f"generation: slot {slot} is at {current}, and the record at {generation}: it is stale.")

    def end(self, slot: int, generation: int) -> None:
        """Tell the writer that a lease has ended.

        The garbage collector may call this in any thread between any two instructions, those of this very method
        included. So it opens no region and never waits: who finds the lock taken leaves the slot to its holder, who
        looks once more after letting go.
        """
        self._ended.append((slot, generation))
        self._tell_what_ended()

    def _tell_what_ended(self) -> None:
        while self._ended and self._telling.acquire(blocking=False):
            try:
                self._tell()
            finally:
                self._telling.release()

    def _tell(self) -> None:
        while self._ended:
            self._give_back(*self._ended.popleft())
        self.words.fence()
        if self.words.load(SLOT_PARKED):  # the bell of bell.py, without its region
            self.words.store(SLOT_PARKED, 0)
            self.words.wake(SLOT_PARKED)

    def _give_back(self, slot: int, generation: int) -> None:
        """Say that this reader has released a slot; called with ``_telling`` held."""
        self.words.store(self.geometry.release_word(slot, self.reader), generation)  # SYNC slab.release
