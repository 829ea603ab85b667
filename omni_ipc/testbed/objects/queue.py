"""``queue.Queue`` under control, and its two sisters."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

from omni_ipc.testbed.brief import brief
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.objects.condition import ControlledCondition
from omni_ipc.testbed.objects.lock import ControlledLock
from omni_ipc.testbed.objects.state import own
from omni_ipc.testbed.operations import Operation, Reading, nothing

_ShutDown: type[Exception] | None = getattr(queue, "ShutDown", None)  # since Python 3.13


class ControlledQueue(queue.Queue[Any], Controlled):
    """A first-in-first-out queue; ``maxsize`` of at most 0 means unbounded.

    Its lock and its three conditions are there for those who use them; a step of its own needs no more than that
    nobody holds the lock.
    """

    kind = "queue"
    maxsize = own("maxsize", "_limit")
    queue = own("queue", "_items", is_container=True)
    unfinished_tasks = own("unfinished_tasks", "_unfinished")
    _is_shut = False

    def __init__(self, kernel: Kernel, maxsize: int = 0) -> None:
        Controlled.__init__(self, kernel)
        self._limit = maxsize
        self._init(maxsize)
        self._unfinished = 0
        self._mutex: _Mutex | None = None

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        limit = _limit(block, timeout) if self._limit > 0 or not block else None
        self._perform(Operation("queue.put", self, lambda: self._do_put(item), self._has_room, _raise_full), limit)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        operation = Operation("queue.get", self, self._do_get, self._has_items, _raise_empty)
        return self._perform(operation, _limit(block, timeout))

    def task_done(self) -> None:
        self.kernel.perform(Operation("queue.task_done", self, self._do_task_done, self._is_free))

    def join(self) -> None:
        self.kernel.perform(Reading("queue.join", self, nothing, self._is_done))

    def qsize(self) -> int:
        return int(self.kernel.perform(Reading("queue.qsize", self, self._qsize, self._is_free)))

    def empty(self) -> bool:
        return bool(self.kernel.perform(Reading("queue.empty", self, lambda: not self._qsize(), self._is_free)))

    def full(self) -> bool:
        look = Reading("queue.full", self, lambda: 0 < self._limit <= self._qsize(), self._is_free)
        return bool(self.kernel.perform(look))

    if _ShutDown is not None:
        is_shutdown = own("is_shutdown", "_is_shut")

        def shutdown(self, immediate: bool = False) -> None:
            self.kernel.perform(Operation("queue.shutdown", self, lambda: self._shut_down(immediate), self._is_free))

    def __getattr__(self, name: str) -> Any:
        """Make the lock or a condition when somebody asks for it."""
        if name not in ("mutex", "not_empty", "not_full", "all_tasks_done"):
            raise AttributeError(f"'{type(self).__name__.removeprefix('Controlled')}' object has no attribute '{name}'")
        self._mutex = self._mutex or _Mutex(self)
        made = self._mutex if name == "mutex" else _QueueCondition(self, self._mutex, name)
        self.__dict__[name] = made
        return made

    def _perform(self, operation: Operation, limit: float | None) -> Any:
        """Perform an operation, or refuse it after a while, in which the wait for the lock does not count."""
        perform_within, refuse = self.kernel.perform_within, operation.expire
        if limit is None:
            return perform_within(operation, None)
        operation.expire = lambda: refuse() if self._is_free() else self._look(operation, refuse)
        if self._mutex is None:
            return perform_within(operation, limit)
        return self._look(operation, refuse if limit == 0.0 else lambda: perform_within(operation, limit))

    def _look(self, operation: Operation, otherwise: Callable[[], Any]) -> Any:
        """Wait for the lock, and perform the operation if it can be by then."""

        def act() -> Any:
            if not operation.enabled():
                return otherwise()
            self.kernel.writes |= operation.writes
            return operation.execute()

        return self.kernel.perform(Reading(operation.action, self, act, self._is_free))

    def _qsize(self) -> int:
        return len(self._items)

    def _is_free(self) -> bool:
        return self._mutex is None or self._mutex.owner is None

    def _has_items(self) -> bool:
        return (self._qsize() > 0 or self._is_shut) and self._is_free()

    def _has_room(self) -> bool:
        return (self._limit <= 0 or self._qsize() < self._limit or self._is_shut) and self._is_free()

    def _is_done(self) -> bool:
        return self._unfinished == 0 and self._is_free()

    def _do_put(self, item: Any) -> None:
        self._refuse_if_shut_down()
        self._at_once(lambda: self._put(item))
        self._unfinished += 1
        self._tell("not_empty", 1)

    def _do_get(self) -> Any:
        if not self._qsize():
            self._refuse_if_shut_down()
        item = self._at_once(self._get)
        self._tell("not_full", 1)
        return item

    def _do_task_done(self) -> None:
        if self._unfinished <= 0:
            raise ValueError("task_done() called too many times")
        self._unfinished -= 1
        if self._unfinished == 0:
            self._tell("all_tasks_done")

    def _shut_down(self, immediate: bool) -> None:
        self._is_shut = True
        while immediate and self._qsize():
            self._get()
            self._unfinished = max(self._unfinished - 1, 0)
        for name in ("all_tasks_done", "not_empty", "not_full"):
            self._tell(name)

    def _refuse_if_shut_down(self) -> None:
        if self._is_shut and _ShutDown is not None:
            raise _ShutDown

    def _at_once(self, act: Callable[[], Any]) -> Any:
        """Do something that may compare items, in code under test, within the step."""
        task = self.kernel.current
        task.atomic += 1
        try:
            return act()
        finally:
            task.atomic -= 1

    def _tell(self, condition: str, waiters: int | None = None) -> None:
        """Wake those who wait by the queue's own conditions."""
        if self._mutex is not None and condition in self.__dict__:
            self.__dict__[condition].wake(waiters)

    def __repr__(self) -> str:
        return Controlled.__repr__(self)

    def shown(self) -> str:
        return brief(list(self._items))

    def blocked_on(self) -> str:
        if not self._is_free():
            return f"{self.name}, whose lock {str(self._mutex and self._mutex.blocked_on()).partition(', which ')[2]}"
        return f"{self.name}, which is {'full' if self._qsize() else 'empty'}"


class ControlledLifoQueue(ControlledQueue, queue.LifoQueue[Any]):
    """A queue that gives back first what was put last."""


class ControlledPriorityQueue(ControlledQueue, queue.PriorityQueue[Any]):
    """A queue that gives back the least first."""


class _Mutex(ControlledLock):
    """The lock of a queue: all that is done with it is done with the queue."""

    kind = "mutex"

    def __init__(self, whole: ControlledQueue) -> None:
        self._whole = whole
        super().__init__(whole.kernel)

    def adopt(self, kernel: Kernel) -> None:
        _be_part(self, self._whole)


class _QueueCondition(ControlledCondition):
    """A condition of a queue."""

    def __init__(self, whole: ControlledQueue, mutex: _Mutex, kind: str) -> None:
        self._whole = whole
        self.kind = kind
        super().__init__(whole.kernel, mutex)

    def adopt(self, kernel: Kernel) -> None:
        _be_part(self, self._whole)


def _be_part(part: Controlled, whole: ControlledQueue) -> None:
    part.kernel, part._maker, part._number, part.bit = whole.kernel, whole._maker, whole._number, whole.bit


def _limit(block: bool, timeout: float | None) -> float | None:
    if not block:
        return 0.0
    if timeout is not None and timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
    return timeout


def _raise_full() -> None:
    raise queue.Full


def _raise_empty() -> None:
    raise queue.Empty
