"""``threading.Condition`` under control."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from omni_ipc.records import Field
from omni_ipc.seam.predicates import wait_for
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.objects.lock import Acquiring, ControlledLock
from omni_ipc.testbed.objects.rlock import ControlledRLock
from omni_ipc.testbed.objects.state import own
from omni_ipc.testbed.operations import Operation, Owning
from omni_ipc.testbed.tasks import Task

T = TypeVar("T")


class ControlledCondition(threading.Condition, Controlled):
    """A waiting list under a lock: who is notified waits on for the lock.

    A wait is two steps: it gives the lock back and joins the list; then, notified, it takes the lock. If it expires, it
    takes the lock in a step of its own, and leaves the list only then: a notification may be spent on it until it does.
    """

    kind = "condition"
    is_plumbing = True
    _waiters = own("_waiters", "_waiting", is_container=True)

    def __init__(self, kernel: Kernel, lock: ControlledLock | None = None) -> None:
        self.lock = self._lock = ControlledRLock(kernel) if lock is None else lock
        Controlled.__init__(self, kernel)
        self._waiting: list[Waiter] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return self.lock.acquire(blocking, timeout)

    def release(self) -> None:
        self.lock.release()

    def __enter__(self) -> bool:
        return self.lock.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.lock.__exit__(kind, error, trace)

    def wait(self, timeout: float | None = None) -> bool:
        join = Operation("condition.wait", self, self._join)
        join.writes |= self.lock.bit
        waiter: Waiter = self.kernel.perform(join)
        if self.kernel.perform_within(self._wake_up(waiter), timeout):
            return True
        lock = self.lock
        leave = Acquiring(lock.acquiring, lock, lambda: self._leave(waiter), lock.is_free)
        leave.writes |= self.bit
        self.kernel.perform(leave)
        return False

    def wait_for(self, predicate: Callable[[], T], timeout: float | None = None) -> T:
        return wait_for(predicate, timeout, wait=self.wait, now=self.kernel.now)

    def notify(self, n: int = 1) -> None:
        self.kernel.perform(self._notifying("condition.notify", n))

    def notify_all(self) -> None:
        self.kernel.perform(self._notifying("condition.notify_all", None))

    def __repr__(self) -> str:
        return Controlled.__repr__(self)

    def shown(self) -> str:
        return f"{len(self._waiting)} waiting"

    def _wake_up(self, waiter: Waiter) -> Operation:
        operation = _Waking("condition.wake", waiter, waiter.wake, waiter.can_wake, lambda: self._expire(waiter))
        operation.waiter = waiter
        operation.writes |= self.lock.bit
        return operation

    def _notifying(self, action: str, waiters: int | None) -> Operation:
        operation = Operation(action, self, lambda: self._notify(waiters))
        operation.reads |= self.lock.bit
        return operation

    def _notify(self, waiters: int | None) -> None:
        if not self.lock.is_owned():
            raise RuntimeError("cannot notify on un-acquired lock")
        self.wake(waiters)

    def _join(self) -> Waiter:
        if not self.lock.is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        waiter = Waiter(self)
        self._waiting.append(waiter)
        waiter.depth = self.lock.give_up()
        return waiter

    def rouse(self, waiter: Waiter) -> None:
        """Wake one who waits, without a reason and without a point."""
        waiter.notified = True
        self._waiting.remove(waiter)

    def wake(self, waiters: int | None = None) -> None:
        """Wake so many waiters, or all, without a point."""
        chosen = self._waiting[:] if waiters is None else self._waiting[: max(waiters, 0)]
        for waiter in chosen:
            waiter.notified = True
        del self._waiting[: len(chosen)]

    def _expire(self, waiter: Waiter) -> bool:
        """Tell whether a waiter whose time is up was notified, and waits on for the lock."""
        if waiter.notified:
            self.kernel.perform(self._wake_up(waiter))
        return waiter.notified

    def _leave(self, waiter: Waiter) -> None:
        """Take the lock again for a waiter whose time is up, and strike it off the list."""
        self.lock.take_back(waiter.depth)
        if not waiter.notified:
            self._waiting.remove(waiter)


class _Waking(Owning):
    """The end of a wait, which a fault may bring about."""

    __slots__ = ("waiter",)

    waiter: Waiter

    @property
    def exclusive(self) -> bool:  # type: ignore[override]
        return self.waiter.condition.lock.scoped

    def asleep(self) -> bool:
        return not self.waiter.notified

    def rouse(self) -> None:
        self.waiter.condition.rouse(self.waiter)


class Waiter:
    """One wait: on the list until it is notified, then on its way to the lock."""

    __slots__ = ("condition", "depth", "notified")

    def __init__(self, condition: ControlledCondition) -> None:
        self.condition = condition
        self.depth = 1
        self.notified = False

    @property
    def bit(self) -> int:
        return self.condition.bit

    def can_wake(self) -> bool:
        return self.notified and self.condition.lock.is_free()

    def wake(self) -> bool:
        self.condition.lock.take_back(self.depth)
        return True

    def label(self) -> dict[str, Field]:
        return self.condition.label()

    def blocked_on(self) -> str:
        return self.condition.lock.blocked_on() if self.notified else f"a notification of {self.condition.name}"

    def holder(self) -> Task | None:
        return self.condition.lock.holder() if self.notified else None
