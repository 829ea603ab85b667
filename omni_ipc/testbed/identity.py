"""Bits that name shared objects, the same in every schedule."""

from __future__ import annotations

from collections.abc import Hashable


class Identities(dict[Hashable, int]):
    """Gives each key a bit of its own, for good.

    The key of an object is (the task that made it, how many that task had made before), so an object has the same bit
    in all schedules of an exploration, whatever other tasks do in between. Sets of objects are then plain integers.

    Attributes:
        spans: bits of all words of a span of memory, once they have been put together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spans: dict[Hashable, int] = {}

    def __missing__(self, key: Hashable) -> int:
        bit = self[key] = 1 << len(self)
        return bit
