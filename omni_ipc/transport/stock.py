"""Who has which slot of a slab, as its writer knows it.

              take               committed                       every reader released
    free ───────────────► lent ─────────────────► held by readers ───────────────────────► free
      ▲                     │ give_back
      └─────────────────────┘ or aborted

Only the writer moves a slot. A reader says "released" by a word of its own, and the writer looks at these words when it
needs a slot. What was released last is lent first: it is still in the cache, and memory never used is never paid for.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Callable, Sequence

from omni_ipc.seam.api import Words
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.guests import GuestBook

_CLASSES_TRIED = 3  # the smallest that fits and the next two: else small data would use up the large slots
_MOST_GENERATIONS = 0xFFFF_FFFF  # 32 bits in a record


class Stock:
    """The slots of one slab; guarded by the slab's lock, but for the two queues, which any thread may append to.

    A slot in a queue is still lent: it is looked at when somebody asks next.
    """

    def __init__(self, geometry: Geometry, words: Words, *, poison: Callable[[int], None] | None = None) -> None:
        """Begin with every slot free.

        Args:
            geometry: of the slab.
            words: of the slab.
            poison: called with each slot that comes back.
        """
        self.aborted: deque[int] = deque()  # even by a thread inside the lock: the garbage collector's
        self.committed: deque[tuple[int, Sequence[int]]] = deque()  # slot, and the readers that will hold it
        self._release_words = [geometry.release_word(0, reader) for reader in range(geometry.readers)]  # of slot 0
        self._words = words
        self._poison = poison
        self._shelves = [_Shelf(*each) for each in zip(geometry.classes, geometry.first_slots, strict=True)]
        self._homes = [shelf for shelf in self._shelves for _ in shelf.free]  # of each slot
        self._sizes = [shelf.slot_bytes for shelf in self._shelves]
        self._generations = [0] * geometry.slots
        self._gone: set[int] = set()
        self.guests = GuestBook(geometry, words)

    def take(self, nbytes: int) -> int | None:
        """Take a free slot of at least so many bytes, if there is one."""
        if self.committed or self.aborted:
            self._settle()
        for shelf in self._fitting(nbytes):
            if shelf.held:
                self._reclaim(shelf)
            if shelf.free:
                return shelf.free.pop()
        return None

    def give_back(self, slot: int) -> None:
        """Put a slot back that was taken, unused."""
        self._homes[slot].free.append(slot)

    def next_generation(self, slot: int) -> int:
        """Count the uses of a slot; never 0, which release words begin with."""
        generation = self._generations[slot] % _MOST_GENERATIONS + 1
        self._generations[slot] = generation
        return generation

    def forget(self, reader: int) -> None:
        """Take what a reader holds, and will hold, as released."""
        self._gone.add(reader)

    def has_free(self, nbytes: int) -> bool:
        """Tell whether there is a free slot of this size."""
        slot = self.take(nbytes)
        if slot is not None:
            self.give_back(slot)
        return slot is not None

    def is_held(self, nbytes: int) -> bool:
        """Tell whether readers hold a slot of this size."""
        self._settle()
        return any(shelf.held for shelf in self._fitting(nbytes))

    def held(self) -> int:
        """Count the slots that readers have not released yet."""
        self._settle()
        for shelf in self._shelves:
            self._reclaim(shelf)
        return sum(len(shelf.held) for shelf in self._shelves)

    def _fitting(self, nbytes: int) -> list[_Shelf]:
        first = bisect.bisect_left(self._sizes, nbytes)
        return self._shelves[first : first + _CLASSES_TRIED]

    def _settle(self) -> None:
        """Empty the queues."""
        while self.committed:
            slot, readers = self.committed.popleft()
            self._homes[slot].held[slot] = readers
        while self.aborted:
            self._shelve(self.aborted.popleft())

    def _reclaim(self, shelf: _Shelf) -> None:
        """Look which slots their readers have released."""
        released = []
        for slot, readers in shelf.held.items():
            if self._is_released(slot, readers):
                released.append(slot)
        for slot in released:  # the last one handed out ends on top
            del shelf.held[slot]
            self._shelve(slot)

    def _is_released(self, slot: int, readers: Sequence[int]) -> bool:
        generation = self._generations[slot]
        for reader in readers:
            released = self._words.load(self._release_words[reader] + slot)  # SYNC slab.release
            if released != generation and reader not in self._gone:
                return False
        return not self.guests.keep(slot, generation)

    def _shelve(self, slot: int) -> None:
        if self._poison is not None:
            self._poison(slot)
        self._homes[slot].free.append(slot)


class _Shelf:
    """The slots of one class."""

    __slots__ = ("free", "held", "slot_bytes")

    def __init__(self, size: SlotClass, first: int) -> None:
        self.slot_bytes = size.slot_bytes
        self.free = list(range(first + size.slots - 1, first - 1, -1))  # a stack
        self.held: dict[int, Sequence[int]] = {}  # slot → its readers, in the order of their commits
