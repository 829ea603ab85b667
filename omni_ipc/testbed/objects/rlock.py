"""``threading.RLock`` under control."""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.lock import ControlledLock
from omni_ipc.testbed.operations import always


class ControlledRLock(ControlledLock):
    """A lock that its owner may take again, and that nobody else may release."""

    kind = "rlock"
    acquiring = "rlock.acquire"
    releasing = "rlock.release"

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._depth = 0

    def chance(self) -> Callable[[], bool]:
        return always if self.is_held() else self.is_free

    def take(self) -> bool:
        self._depth += 1
        return super().take()

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
