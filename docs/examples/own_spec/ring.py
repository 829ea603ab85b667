"""A bounded queue: a ring of cells under one lock; nobody ever waits."""

from __future__ import annotations

from omni_ipc.seam.api import Runtime


class Ring:
    """Keeps up to ``size`` items, the oldest first."""

    def __init__(self, rt: Runtime, size: int) -> None:
        self._rt = rt
        self._lock = rt.lock()
        self._cells: list[str | None] = [None] * size
        self._first = 0
        self._count = 0

    def offer(self, item: str) -> bool:
        """Put an item behind the others, or refuse it if there is no room."""
        with self._rt.region("Producer.Offer", self._lock, item=item):
            if self._count == len(self._cells):
                return False
            self._cells[(self._first + self._count) % len(self._cells)] = item
            self._count += 1
            return True

    def poll(self) -> str | None:
        """Take the oldest item, if there is one."""
        with self._rt.region("Consumer.Poll", self._lock):
            if self._count == 0:
                return None
            item = self._cells[self._first]
            self._first = (self._first + 1) % len(self._cells)
            self._count -= 1
            return item

    def items(self) -> list[str | None]:
        """Give all items, the oldest first; for tests."""
        return [self._cells[(self._first + place) % len(self._cells)] for place in range(self._count)]


class HastyRing(Ring):
    """Looks whether there is room before it has the lock."""

    def offer(self, item: str) -> bool:
        with self._lock:
            if self._count == len(self._cells):
                return False
        with self._rt.region("Producer.Offer", self._lock, item=item):
            self._cells[(self._first + self._count) % len(self._cells)] = item
            self._count += 1
            return True
