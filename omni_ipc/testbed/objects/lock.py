"""``threading.Lock`` under control."""

from __future__ import annotations

from _thread import LockType, allocate_lock
from collections.abc import Callable
from numbers import Real
from threading import TIMEOUT_MAX
from types import TracebackType

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Operation, Owning, Reading, always, unlimited
from omni_ipc.testbed.tasks import Task


class ControlledLock(Controlled):
    """What all locks share.

    Attributes:
        owner: the task that took it.
        scoped: it was taken by ``with``, so that its owner itself will release it; any other task may release a lock
            that was taken by ``acquire()``.
    """

    kind = "lock"
    is_plumbing = True
    acquiring = "lock.acquire"
    releasing = "lock.release"

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.owner: Task | None = None
        self.scoped = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if timeout != -1 and not (blocking and isinstance(timeout, Real) and 0 <= timeout <= TIMEOUT_MAX):
            allocate_lock().acquire(blocking, timeout)  # tells in its own words what is wrong
        operation = Acquiring(self.acquiring, self, self.take, self.chance(), _missed)
        limit = None if timeout == -1 else timeout
        return bool(self.kernel.perform_within(operation, limit if blocking else 0.0))

    def release(self) -> None:
        self.kernel.perform(Releasing(self))

    def locked(self) -> bool:
        return bool(self.kernel.perform(Reading(f"{self.kind}.locked", self, lambda: self.owner is not None)))

    def __enter__(self) -> bool:
        kernel = self.kernel
        task = kernel.current
        if task.atomic and self.owner is None and kernel.merges and task is not kernel.outside:
            kernel.writes |= self.bit
            self.owner = task
            self.scoped = True
            return True
        return kernel.perform(Entering(self))  # type: ignore[no-any-return]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        kernel = self.kernel
        task = kernel.current
        if task.atomic and self.owner is not None and kernel.merges and task is not kernel.outside:
            kernel.writes |= self.bit
            self.owner = None
        else:
            kernel.perform(Releasing(self))

    def is_free(self) -> bool:
        """Tell whether nobody holds the lock."""
        return self.owner is None

    def chance(self) -> Callable[[], bool]:
        """Return what tells whether the current task can take the lock."""
        return self.is_free

    def is_held(self) -> bool:
        """Tell whether the current task holds the lock."""
        return self.owner is self.kernel.current

    def is_owned(self) -> bool:
        """Tell whether who waits or notifies under the lock may do so: a plain lock may be anybody's."""
        return self.owner is not None

    _is_owned = is_owned

    def take(self) -> bool:
        """Take the free lock for the current task, without a point."""
        self.owner = self.kernel.current
        self.scoped = False
        return True

    def enter(self) -> bool:
        """Take the free lock for a ``with`` of the current task, without a point."""
        self.owner = self.kernel.current
        self.scoped = True
        return True

    def give(self) -> None:
        """Release the lock, without a point."""
        if self.owner is None:
            raise RuntimeError("release unlocked lock")
        self.owner = None

    def give_up(self) -> int:
        """Release the lock wholly for a wait, and return what `take_back` needs."""
        scoped = int(self.scoped)
        self.give()
        return scoped

    def take_back(self, depth: int) -> None:
        """Take the lock again after a wait."""
        self.take()
        self.scoped = bool(depth)

    def shown(self) -> str:
        return "free" if self.owner is None else f"held by '{self.owner.name}'"

    def blocked_on(self) -> str:
        if self.owner is None:
            return f"{self.name}, which nobody holds"
        return f"{self.name}, which '{self.owner.name}' {'has left locked' if self.owner.ended else 'holds'}"

    def holder(self) -> Task | None:
        return self.owner


class PlainLock(ControlledLock):
    """A lock that may be released by any task."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Pass for the original where somebody asks whether it is one."""
        return LockType


class Acquiring(Owning):
    """Taking a lock."""

    __slots__ = ()

    @property
    def exclusive(self) -> bool:  # type: ignore[override]
        """Whether only the owner will release it: if not, a cycle may still be broken by somebody else."""
        lock = self.subject
        return isinstance(lock, ControlledLock) and lock.scoped


class Entering(Acquiring):
    """Taking a lock by ``with``."""

    __slots__ = ()

    subject: ControlledLock
    action = ControlledLock.acquiring  # in the class, as below, because locks are taken all the time
    expire = staticmethod(unlimited)
    extra = None
    reads = 0

    def __init__(self, lock: ControlledLock) -> None:
        self.subject = lock
        self.writes = lock.bit

    def enabled(self) -> bool:
        return self.subject.owner is None

    def execute(self) -> bool:
        return self.subject.enter()


class Releasing(Operation):
    """Giving a lock back."""

    __slots__ = ()

    subject: ControlledLock
    enabled = staticmethod(always)
    expire = staticmethod(unlimited)
    extra = None
    reads = 0

    def __init__(self, lock: ControlledLock) -> None:
        self.subject = lock
        self.writes = lock.bit

    @property
    def action(self) -> str:  # type: ignore[override]
        return self.subject.releasing

    def execute(self) -> None:
        self.subject.give()


def _missed() -> bool:
    return False
