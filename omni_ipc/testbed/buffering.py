"""The kernel where stores are seen late: each task has a store buffer, which the hardware empties.

    task ── "words.store" ──► its buffer ── "words.flush" ──► memory
                              its own loads see it            all loads see it

The two steps are chosen like any others. The first one is the task's, who goes on behind it; the second one is that of
a *drain*: a task of the hardware, which has no code and is there as long as it has something to move. Which store may
go next is the whole difference between the memory orders: under TSO each task has one drain, first in, first out; under
the weaker orders it has one for each place in memory, and what overlaps stays in order.

A fence, like any operation that is none on words, plain fields or unlocked regions, waits until the task's buffer is
empty; so do `words.wait` and `words.wake`, which are system calls, and the end of a task. Within a region nobody
intervenes, so there a fence empties the buffer at once.

What is not modelled: loads are never early, stores are seen by all others at the same time, and one bulk write is never
seen in parts. A task sees its own late stores through any view of the same mapping, and not through another mapping of
the same memory. Each task counts as a processor of its own, as those of several processes are; threads of one CPython
with a GIL see less of this.
"""

from __future__ import annotations

import bisect
import contextlib
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from omni_ipc.records import MemoryOrder
from omni_ipc.testbed.faults.kernel import FaultingKernel
from omni_ipc.testbed.kernel import Chooser
from omni_ipc.testbed.operations import Operation, always, nothing
from omni_ipc.testbed.tasks import RunEnded, Task
from omni_ipc.testbed.where import locate_here


class Store:
    """A store that is on its way to memory.

    Args:
        flush: its arrival there, in a trace, and what that writes.
        address: of the first byte.
        target: the bytes to change.
        data: what to write there.
        releases: whether, under `MemoryOrder.RELEASE`, all that was stored before arrives before it.
    """

    __slots__ = ("address", "data", "end", "flush", "releases", "target", "where")

    def __init__(self, flush: Operation, address: int, target: memoryview, data: bytes, *, releases: bool) -> None:
        self.flush = flush
        self.address = address
        self.end = address + len(data)
        self.target = target
        self.data = data
        self.releases = releases
        self.where: str | None = None

    def overlaps(self, address: int, end: int) -> bool:
        return self.address < end and address < self.end

    def show(self, address: int, copy: bytearray) -> None:
        """Change a copy of memory as the store will change the memory."""
        first, end = max(self.address, address), min(self.end, address + len(copy))
        if first < end:
            copy[first - address : end - address] = self.data[first - self.address : end - self.address]


class Drain(Task):
    """Moves stores of one task to memory.

    Args:
        may_leave: tells whether a store may arrive before older ones.
        flush: lets the first store of a drain arrive.
    """

    __slots__ = ("_flush", "owner", "stores")

    def __init__(
        self,
        owner: Task,
        index: int,
        key: int,
        may_leave: Callable[[Task, Store], bool],
        flush: Callable[[Drain], object],
    ) -> None:
        super().__init__(f"{owner.name}'s stores", index, key, nothing, ())
        self.owner = owner
        self.stores: deque[Store] = deque()
        self._flush = flush
        self.ready = lambda: bool(self.stores) and may_leave(owner, self.stores[0])

    def act(self) -> None:
        """Let the store that is next arrive in memory."""
        self._flush(self)

    @property
    def where(self) -> str | None:
        """The line of the store that it moves next."""
        return self.stores[0].where


class BufferingKernel(FaultingKernel):
    """One run of a scenario under a memory order that is weaker than sequential consistency."""

    def __init__(self, chooser: Chooser, *, order: MemoryOrder, **options: Any) -> None:
        super().__init__(chooser, **options)
        self._order = order
        self.merges = False  # as each operation, it may have to wait for stores, or be a fence
        self._stores: dict[Task, list[Store]] = {}  # in the order of the program
        self._drains: dict[tuple[Task, int], Drain] = {}

    # What words call

    def buffer(self, store: Store, place: Hashable) -> None:
        """Put a store of the current task into its buffer.

        Args:
            place: where it goes, by a name that is the same in every schedule.
        """
        if self.over:
            return
        if self.observer is not None:
            store.where = locate_here()
        self._stores.setdefault(self.current, []).append(store)
        drain = self._drain(self.current, store.address, place)
        drain.stores.append(store)
        if len(drain.stores) == 1:
            drain.pending = store.flush
            bisect.insort(self.living, drain, key=lambda task: task.index)

    def has_stores(self) -> bool:
        """Tell whether something that the current task has stored is not seen by all yet."""
        return bool(self._stores.get(self.current))

    def as_seen(self, address: int, copy: bytearray) -> bytearray:
        """Change a copy of memory to what the current task sees there."""
        for store in self._stores.get(self.current, ()):
            store.show(address, copy)
        return copy

    # What the kernel does differently

    def fence(self) -> None:
        stores = self._stores.get(self.current)
        if not stores:
            return
        for store in stores:
            self._arrive(store)
        stores.clear()
        for drain in self._drains.values():
            if drain.owner is self.current and drain.stores:
                drain.stores.clear()
                self.living.remove(drain)

    def perform(self, operation: Operation) -> Any:
        if self.current.atomic and operation.fences:
            self.fence()
        return super().perform(operation)

    def perform_within(self, operation: Operation, timeout: float | None) -> Any:
        if self.current.atomic and operation.fences:
            self.fence()
        return super().perform_within(operation, timeout)

    def next_task(self) -> Task:
        caller = self.current
        while isinstance(chosen := super().next_task(), Drain):
            self.current = caller
            chosen.act()
        return chosen

    def is_gone(self, task: Task) -> bool:
        return task.ended and not self._stores.get(task)  # no system tells of a death before what the dead has stored

    def leave(self, task: Task) -> Callable[[], object]:
        if task in self._stores and not self.over:
            with contextlib.suppress(RunEnded):
                self._point(task, Operation("task.exit", None, nothing), always)
        return super().leave(task)

    def close(self) -> None:
        self.halt()
        self.living = [task for task in self.living if not isinstance(task, Drain)]
        super().close()

    def _point(self, task: Task, operation: Operation, ready: Callable[[], bool]) -> None:
        stores = self._stores.get(task)
        if stores is None or not operation.fences:
            super()._point(task, operation, ready)
        else:
            super()._point(task, operation, lambda: not stores and ready())

    # The hardware

    def _drain(self, owner: Task, address: int, place: Hashable) -> Drain:
        """Return what moves the stores of a task to a place in memory."""
        if self._order is MemoryOrder.TSO:
            address, place = 0, None
        if (owner, address) not in self._drains:
            key = self.identities["stores", owner.key, place]
            drain = self._drains[owner, address] = Drain(owner, len(self.tasks), key, self._may_leave, self._flush)
            self.tasks.append(drain)
        return self._drains[owner, address]

    def _may_leave(self, owner: Task, store: Store) -> bool:
        if self._order is MemoryOrder.TSO:
            return True  # the first of its only drain
        follows_all = store.releases and self._order is MemoryOrder.RELEASE
        for older in self._stores[owner]:
            if older is store:
                break
            if follows_all or older.overlaps(store.address, store.end):
                return False
        return True

    def _flush(self, drain: Drain) -> None:
        store, owner = drain.stores.popleft(), drain.owner
        self._stores[owner].remove(store)
        self._arrive(store)
        if self.is_gone(owner):
            self.writes |= owner.bit | owner.life
        if drain.stores:
            drain.pending = drain.stores[0].flush
        else:
            self.living.remove(drain)

    def _arrive(self, store: Store) -> None:
        store.target[:] = store.data
        self.writes |= store.flush.writes
