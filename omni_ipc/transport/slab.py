"""The writing end of a slab: memory for large data, lent to producers and handed to readers without a copy.

Slots are filled by ordinary stores, of numpy or of a device whose event was awaited, which no word orders by itself:

    fill the slot ─► write the record ─► store the position  ┄┄►  load it ─► read record and slot ─► store "released"
          ▲                                                                                               ┊
          └──────────── lend it again ◄─ load "released" ◄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┘

A store of a word releases all that was written before it, and a load acquires. So the one store that publishes the
record publishes the slot, and the release word gives it back when all reading is over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omni_ipc.errors import Full, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport import bell, liveness
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.geometry import DEFAULT_CLASSES, SLOT_PARKED, Geometry, SlotClass
from omni_ipc.transport.hold import Windows
from omni_ipc.transport.layout import Header, Side, Signature
from omni_ipc.transport.loan import Loan
from omni_ipc.transport.stock import Stock

POISON = 0xDB

_FOREVER_S = 1e6  # a lock refuses more than it can count, and infinity


class Slab:
    """One process's slab, for any number of its threads."""

    def __init__(
        self,
        *,
        rt: Runtime,
        buffer: memoryview,
        name: str,
        prepare: Callable[[int, int], object] | None = None,
        poison: bool = False,
    ) -> None:
        """Attach as the writer to a slab that was laid into the buffer.

        Args:
            rt: this process's runtime.
            buffer: the slab's segment, as this process maps it.
            name: for messages.
            prepare: called with offset and bytes of each slot before its first use; gives it its memory
                (`Segment.reserve`), and pins it where a device copies into it.
            poison: fill released slots with 0xDB, so that who still looks at one sees it. For debugging.

        Raises:
            FormatError: the buffer holds no slab of this version and geometry.
            UsageError: the slab has a writer.
        """
        self.geometry = Geometry.read(buffer, name)
        signed = Header.signature(buffer, Side.WRITER)
        if signed is not None:
            raise UsageError(f"Slab '{name}' has a writer, process {signed.pid}. Create a slab for each writer.")
        Header.sign(buffer, Side.WRITER, liveness.this_process())
        self.name = name
        self._windows = Windows(Loan, buffer, self.geometry)
        self._rt = rt
        self._largest_bytes = self.geometry.largest_bytes
        self._generation_words = self.geometry.generation_word(0)  # of slot 0; the others follow
        self._words = rt.words(buffer[: self.geometry.words_bytes])
        self._prepare = prepare
        self._unprepared = set(range(self.geometry.slots)) if prepare is not None else set()  # guarded by _lock
        self._lock = rt.lock()
        self._stock = self._stocked(self._poison if poison else None)  # guarded by _lock, but for its queues
        self._waiting = rt.lock()  # a bell has one sleeper
        self._bell = Bell(rt, self._words, SLOT_PARKED)
        self._looks = liveness.Looks(rt)  # these two belong to who has _waiting
        self._readers = list(range(self.geometry.readers))  # whose death was not seen

    @classmethod
    def create(
        cls,
        *,
        rt: Runtime,
        buffer: memoryview,
        name: str,
        classes: Sequence[SlotClass] = DEFAULT_CLASSES,
        readers: int = 1,
        guests: int = 0,
        poison: bool = False,
    ) -> Slab:
        """Lay a slab into a zero-filled buffer of its `Geometry`'s ``nbytes``, and attach to it."""
        Geometry(classes, readers=readers, guests=guests).lay(buffer)
        return cls(rt=rt, buffer=buffer, name=name, poison=poison)

    def loan(self, nbytes: int, *, timeout: float) -> Loan:
        """Lend a slot of at least ``nbytes``.

        Args:
            nbytes: what the loan's view will have.
            timeout: seconds to wait for a slot at most; 0 only looks.

        Raises:
            Full: readers hold every slot that would do, and released none in time.
            UsageError: no slot is so large.
            EnvironmentMissing: the machine has no memory left for a slot that was never used.

        Points: Slab.Loan, Bell.Park.
        """
        if not 0 <= nbytes <= self._largest_bytes:
            raise UsageError(
                f"Slab '{self.name}' cannot lend {nbytes:,} bytes: its largest slot has "
                f"{self.geometry.largest_bytes:,}. Send it without a loan, or create the slab with larger classes."
            )
        loan = self._lend(nbytes)
        if loan is not None or (loan := self._wait(nbytes, self._rt.now() + timeout)) is not None:
            return loan
        raise Full(
            f"Slab '{self.name}' had no slot for {nbytes:,} bytes within {timeout:g} s: readers hold {self.held()}. "
            "Wait longer, let readers release what they received, or give the slab more slots."
        )

    def may_come(self, nbytes: int) -> bool:
        """Tell whether readers hold a slot of this size, so that waiting for one makes sense."""
        with self._rt.region("Slab.Look", self._lock):
            return self._stock.is_held(nbytes)

    def held(self) -> int:
        """Count the slots that readers have not released yet."""
        with self._rt.region("Slab.Look", self._lock):
            return self._stock.held()

    def forget(self, reader: int) -> None:
        """Take back what a reader holds, for good: it is dead. Who waits for a slot does this by itself."""
        with self._rt.region("Slab.Forget", self._lock, reader=reader):
            self._stock.forget(reader)
        self.look_again()

    def look_again(self) -> None:
        """Wake whoever waits for a slot: one may have come free by other ways than a reader's release."""
        with self._rt.region("Bell.Ring"):
            self._bell.ring()

    def hold(self, slot: int, readers: Sequence[int]) -> None:
        """Leave a loaned slot to readers; until then nobody else gets it, even if they have released it already."""
        self._stock.committed.append((slot, readers))

    def end(self, slot: int, generation: int) -> None:
        """Take note that nobody looks at a slot any more that was lent, and not committed."""
        self._stock.aborted.append(slot)

    def _wait(self, nbytes: int, deadline: float) -> Loan | None:
        """Wait for a slot: one thread by the bell, and the others for its turn, as it may wait for another size."""
        longest_s = min(bell.LONGEST_SLEEP_S, _FOREVER_S)
        while not self._waiting.acquire(timeout=min(max(deadline - self._rt.now(), 0.0), longest_s)):
            if (loan := self._lend(nbytes)) is not None or self._rt.now() >= deadline:
                return loan
        try:
            return self._wait_by_the_bell(nbytes, deadline)
        finally:
            self._waiting.release()

    def _wait_by_the_bell(self, nbytes: int, deadline: float) -> Loan | None:
        while True:
            if (loan := self._lend(nbytes)) is not None:
                return loan
            if self._looks.due() and self._forget_the_dead():
                continue
            remaining = deadline - self._rt.now()
            if remaining <= 0:
                return None
            self._bell.sleep_unless(lambda: self._has_free(nbytes), remaining)

    def _forget_the_dead(self) -> bool:
        """Take back what dead readers hold, and tell whether there were any."""
        dead = [reader for reader in self._readers if self._has_ended(reader)]
        for reader in dead:
            self.forget(reader)
            self._readers.remove(reader)
        return self._stock.guests.forget_the_dead() or bool(dead)

    def _has_ended(self, reader: int) -> bool:
        word = self.geometry.signature_word(reader)
        pid = self._words.load(word + 1)  # SYNC slab.signature
        return bool(pid) and liveness.ending(Signature(pid, self._words.load(word))) is not None

    def _lend(self, nbytes: int) -> Loan | None:
        with self._rt.region("Slab.Loan", self._lock, nbytes=nbytes):
            slot = self._stock.take(nbytes)
            if slot is None:
                return None
            if slot in self._unprepared:
                self._prepare_first(slot)
            generation = self._stock.next_generation(slot)
            self._words.store(self._generation_words + slot, generation)  # SYNC slab.generation
        return self._windows.hold(self, slot, generation).begun(nbytes)

    def _prepare_first(self, slot: int) -> None:
        assert self._prepare is not None
        try:
            self._prepare(*self.geometry.spans[slot])
        except BaseException:
            self._stock.give_back(slot)
            raise
        self._unprepared.remove(slot)

    def _has_free(self, nbytes: int) -> bool:
        with self._rt.region("Slab.Look", self._lock):
            return self._stock.has_free(nbytes)

    def _stocked(self, poison: Callable[[int], None] | None) -> Stock:
        return Stock(self.geometry, self._words, poison=poison)

    def _poison(self, slot: int) -> None:
        offset, nbytes = self.geometry.spans[slot]
        self._windows.memory[offset : offset + nbytes] = bytes((POISON,)) * nbytes
