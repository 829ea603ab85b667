"""``threading.RLock`` under control."""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable
from types import TracebackType

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.lock import Acquiring, ControlledLock, Releasing
from omni_ipc.testbed.operations import Operation, always


class ControlledRLock(ControlledLock):
    """A lock that its owner may take again, and that nobody else may release."""

    kind = "rlock"
    acquiring = "rlock.acquire"
    releasing = "rlock.release"

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._depth = 0
        self.scoped = True  # only its owner may release it

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return RLock

    def _release_save(self) -> int:
        """Release it wholly; `threading.Condition` asks for it if somebody has made a class of it."""
        return int(self.kernel.perform(Operation(self.releasing, self, self.give_up)))

    def _acquire_restore(self, depth: int) -> None:
        self.kernel.perform(Acquiring(self.acquiring, self, lambda: self.take_back(depth), self.is_free))

    def __enter__(self) -> bool:
        return bool(self.kernel.perform(Acquiring(self.acquiring, self, self.take, self.chance())))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.kernel.perform(Releasing(self))

    def chance(self) -> Callable[[], bool]:
        return always if self.is_held() else self.is_free

    def is_owned(self) -> bool:
        return self.is_held()

    _is_owned = is_owned

    def take(self) -> bool:
        self._depth += 1
        self.owner = self.kernel.current
        return True

    enter = take

    def give(self) -> None:
        if not self.is_held():
            raise RuntimeError("cannot release un-acquired lock")
        self._depth -= 1
        if self._depth == 0:
            self.owner = None

    def give_up(self) -> int:
        depth, self._depth = self._depth, 0
        self.owner = None
        return depth

    def take_back(self, depth: int) -> None:
        self.owner = self.kernel.current
        self._depth = depth
