"""Bits that name shared objects, the same in every schedule."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable
from itertools import islice

CLEARED_EVENTS = "event.clear"
"""Events are cleared: a wait is two steps, as who sleeps is woken by an event that is set for a moment."""
COUNTED_THREADS = "threading.enumerate"
"""Threads are counted: their starts and ends are told apart."""
ASKED_LIVES = "is_alive"
"""Threads, tasks or processes are asked whether they live: a task ends in a step of its own, as it lives on for a while
after its last."""
SHARED_CONTEXTS = "context.run"
"""Several tasks enter one context: it is entered and left in steps of their own, as only one can be in it at a time."""
DISTINCTIONS = frozenset({CLEARED_EVENTS, COUNTED_THREADS, ASKED_LIVES, SHARED_CONTEXTS})

CONTEXTS = ("any", "contextvars", "Context")
"""Who all contexts are: who made one is not known."""


class Identities(dict[Hashable, int]):
    """Gives each key a bit of its own, for good.

    The key of an object is (the task that made it, how many that task had made before), so an object has the same bit
    in all schedules of an exploration, whatever other tasks do in between. Sets of objects are then plain integers.

    Attributes:
        spans: bits of all words of a span of memory, once they have been put together.
        distinctions: what is told apart by steps of its own, because some run has shown that it matters.
        tells_ends: whether the end of a task is told apart from the last step of its function.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spans: dict[Hashable, int] = {}
        self.distinctions: set[str] = set()
        self.tells_ends = False  # an attribute, as each task of each run asks for it
        self._met: set[str] = set()
        self._names: dict[int, int] = {}

    def name(self, bit: int) -> int:
        """Return a number for a bit that is the same in all processes: bits are given in the order of meeting."""
        if bit not in self._names:
            for key, met in islice(self.items(), len(self._names), None):  # plain values, as all that is saved
                self._names[met] = int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=7).digest())
        return self._names[bit]

    def meet(self, distinction: str) -> bool:
        """Note that something matters, for the runs to come, and tell whether it is told apart already."""
        self._met.add(distinction)
        return distinction in self.distinctions

    @property
    def census(self) -> int:
        """The bit of all that live, if anybody counts them."""
        return self[COUNTED_THREADS] if COUNTED_THREADS in self.distinctions else 0

    def refine(self) -> bool:
        """From now on tell apart what was met, and tell whether there is anything new."""
        new = self._met - self.distinctions
        self.tell_apart(new)
        return bool(new)

    def tell_apart(self, distinctions: Collection[str]) -> None:
        """From now on tell these apart, too."""
        self.distinctions.update(distinctions)
        self.tells_ends = not self.distinctions.isdisjoint({ASKED_LIVES, COUNTED_THREADS})

    def __missing__(self, key: Hashable) -> int:
        bit = self[key] = 1 << len(self)
        return bit
