"""The writing end of a slab: memory for large data, lent to producers and handed to readers without a copy.

              loan                  commit                        every reader released
    free ───────────────► loaned ───────────────► held by readers ───────────────────────► free
      ▲                     │ abort, or its garbage collection
      └─────────────────────┘

Only the writer moves a slot. A reader says "released" by a word of its own, and the writer looks at these words when it
needs a slot. What was released last is lent first: it is still in the cache, and memory never used is never paid for.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Callable, Sequence

from omni_ipc.errors import Full, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.geometry import DEFAULT_CLASSES, SLOT_PARKED, Geometry, SlotClass
from omni_ipc.transport.layout import Header, Side
from omni_ipc.transport.lease import hold
from omni_ipc.transport.liveness import this_process
from omni_ipc.transport.loan import Loan
from omni_ipc.transport.tensor import Place

POISON = 0xDB

_CLASSES_TRIED = 3  # the smallest that fits and the next two: else small data would use up the large slots


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
        Header.sign(buffer, Side.WRITER, this_process())
        self.name = name
        self._rt = rt
        self._buffer = buffer
        self._words = rt.words(buffer[: self.geometry.words_bytes])
        self._prepare = prepare
        self._poison = poison
        self._lock = rt.lock()
        self._shelves = [  # guarded by _lock, and so are the next ones
            _Shelf(each, first) for each, first in zip(self.geometry.classes, self.geometry.first_slots, strict=True)
        ]
        self._homes = [shelf for shelf in self._shelves for _ in shelf.free]  # of each slot
        self._sizes = [shelf.slot_bytes for shelf in self._shelves]
        self._generations = [0] * self.geometry.slots
        self._prepared = [False] * self.geometry.slots
        self._gone: set[int] = set()
        self._aborted: deque[int] = deque()  # by whichever thread, even inside the lock: the garbage collector's
        self._waiting = rt.lock()  # a bell has one sleeper
        self._bell = Bell(rt, self._words, SLOT_PARKED)

    @classmethod
    def create(
        cls,
        *,
        rt: Runtime,
        buffer: memoryview,
        name: str,
        classes: Sequence[SlotClass] = DEFAULT_CLASSES,
        readers: int = 1,
        poison: bool = False,
    ) -> Slab:
        """Lay a slab into a zero-filled buffer of ``Geometry(classes, readers=readers).nbytes``, and attach to it."""
        Geometry(classes, readers=readers).lay(buffer)
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
        if not 0 <= nbytes <= self.geometry.largest_bytes:
            raise UsageError(
                f"Slab '{self.name}' cannot lend {nbytes:,} bytes: its largest slot has "
                f"{self.geometry.largest_bytes:,}. Send it without a loan, or create the slab with larger classes."
            )
        loan = self._lend(nbytes)
        if loan is not None:
            return loan
        deadline = self._rt.now() + timeout
        if self._waiting.acquire(timeout=max(timeout, 0.0)):
            try:
                if (loan := self._await(nbytes, deadline)) is not None:
                    return loan
            finally:
                self._waiting.release()
        raise Full(
            f"Slab '{self.name}' had no slot for {nbytes:,} bytes within {timeout:g} s: readers hold {self.held()}. "
            "Wait longer, let readers release what they received, or give the slab more slots."
        )

    def may_come(self, nbytes: int) -> bool:
        """Tell whether readers hold a slot of this size, so that waiting for one makes sense."""
        with self._rt.region("Slab.Look", self._lock):
            return any(shelf.held for shelf in self._fitting(nbytes))

    def held(self) -> int:
        """Count the slots that readers have not released yet."""
        with self._rt.region("Slab.Look", self._lock):
            for shelf in self._shelves:
                self._reclaim(shelf)
            return sum(len(shelf.held) for shelf in self._shelves)

    def forget(self, reader: int) -> None:
        """Take back what a reader holds, for good: it is dead."""
        with self._rt.region("Slab.Forget", self._lock, reader=reader):
            self._gone.add(reader)
        self.look_again()

    def look_again(self) -> None:
        """Wake whoever waits for a slot: one may have come free by other ways than a reader's release."""
        with self._rt.region("Bell.Ring"):
            self._bell.ring()

    def hold(self, slot: int, readers: Sequence[int]) -> None:
        """Give a loaned slot to readers; called before they may see it."""
        with self._rt.region("Slab.Commit", self._lock, slot=slot):
            self._homes[slot].held[slot] = readers

    def take_back(self, slot: int) -> None:
        """Undo `hold`: no reader has seen the slot."""
        with self._rt.region("Slab.TakeBack", self._lock, slot=slot):
            self._homes[slot].held.pop(slot, None)

    def _await(self, nbytes: int, deadline: float) -> Loan | None:
        while True:
            if (loan := self._lend(nbytes)) is not None:
                return loan
            remaining = deadline - self._rt.now()
            if remaining <= 0:
                return None
            self._bell.sleep_unless(lambda: self._has_free(nbytes), remaining)

    def _lend(self, nbytes: int) -> Loan | None:
        with self._rt.region("Slab.Loan", self._lock, nbytes=nbytes):
            slot = self._take(nbytes)
            if slot is None:
                return None
            offset, slot_bytes = self.geometry.span(slot)
            if self._prepare is not None and not self._prepared[slot]:
                self._prepare_first(self._prepare, slot, offset, slot_bytes)
            generation = self._next_generation(slot)
            self._words.store(self.geometry.generation_word(slot), generation)  # SYNC slab.generation
        memory, end = hold(self._buffer, offset, slot_bytes, self._aborted.append, slot)
        return Loan(self, Place(slot, generation, 0), memory[:nbytes], end)

    def _next_generation(self, slot: int) -> int:
        generation = self._generations[slot] % 0xFFFF_FFFF + 1  # 32 bits in a record, and never 0: no release word is
        self._generations[slot] = generation
        return generation

    def _has_free(self, nbytes: int) -> bool:
        with self._rt.region("Slab.Look", self._lock):
            self._shelve_aborted()
            shelves = self._fitting(nbytes)
            for shelf in shelves:
                self._reclaim(shelf)
            return any(shelf.free for shelf in shelves)

    def _take(self, nbytes: int) -> int | None:
        self._shelve_aborted()
        for shelf in self._fitting(nbytes):
            self._reclaim(shelf)
            if shelf.free:
                return shelf.free.pop()
        return None

    def _prepare_first(self, prepare: Callable[[int, int], object], slot: int, offset: int, slot_bytes: int) -> None:
        try:
            prepare(offset, slot_bytes)
        except BaseException:
            self._homes[slot].free.append(slot)
            raise
        self._prepared[slot] = True

    def _fitting(self, nbytes: int) -> list[_Shelf]:
        first = bisect.bisect_left(self._sizes, nbytes)
        return self._shelves[first : first + _CLASSES_TRIED]

    def _shelve_aborted(self) -> None:
        while self._aborted:
            self._shelve(self._aborted.popleft())

    def _reclaim(self, shelf: _Shelf) -> None:
        """Look which slots their readers have released."""
        if not shelf.held:
            return
        released = [slot for slot, readers in shelf.held.items() if self._is_released(slot, readers)]
        for slot in released:  # the last one handed out ends on top
            del shelf.held[slot]
            self._shelve(slot)

    def _is_released(self, slot: int, readers: Sequence[int]) -> bool:
        generation, word, load = self._generations[slot], self.geometry.release_word, self._words.load
        for reader in readers:  # noqa: SIM110 - a generator takes twice as long
            if load(word(slot, reader)) != generation and reader not in self._gone:  # SYNC slab.release
                return False
        return True

    def _shelve(self, slot: int) -> None:
        if self._poison:
            offset, nbytes = self.geometry.span(slot)
            self._buffer[offset : offset + nbytes] = bytes((POISON,)) * nbytes
        self._homes[slot].free.append(slot)


class _Shelf:
    """The slots of one class."""

    __slots__ = ("free", "held", "slot_bytes")

    def __init__(self, size: SlotClass, first: int) -> None:
        self.slot_bytes = size.slot_bytes
        self.free = list(range(first + size.slots - 1, first - 1, -1))  # a stack
        self.held: dict[int, Sequence[int]] = {}  # slot → its readers, in the order of their commits
