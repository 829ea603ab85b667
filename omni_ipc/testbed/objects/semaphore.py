"""``threading.Semaphore`` under control."""

from __future__ import annotations

import threading
from types import TracebackType

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.objects.state import own
from omni_ipc.testbed.operations import Operation


class ControlledSemaphore(threading.Semaphore, Controlled):
    """A counter that does not go below zero."""

    kind = "semaphore"
    _value = own("_value", "_left")

    def __init__(self, kernel: Kernel, value: int = 1) -> None:
        if value < 0:
            raise ValueError("semaphore initial value must be >= 0")
        Controlled.__init__(self, kernel)
        self._left = value

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if not blocking and timeout is not None:
            raise ValueError("can't specify timeout for non-blocking acquire")
        operation = Operation("semaphore.acquire", self, self._take, self._is_positive, _missed)
        return bool(self.kernel.perform_within(operation, timeout if blocking else 0.0))

    def release(self, n: int = 1) -> None:
        if n < 1:
            raise ValueError("n must be one or more")
        self.kernel.perform(Operation("semaphore.release", self, lambda: self._give(n)))

    __enter__ = acquire

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.release()

    def _is_positive(self) -> bool:
        return self._left > 0

    def _take(self) -> bool:
        self._left -= 1
        return True

    def _give(self, n: int) -> None:
        self._left += n

    def __repr__(self) -> str:
        return Controlled.__repr__(self)

    def shown(self) -> str:
        return str(self._left)

    def blocked_on(self) -> str:
        return f"{self.name} to be released"


class ControlledBoundedSemaphore(ControlledSemaphore, threading.BoundedSemaphore):
    """A counter that does not go above its first value either."""

    def __init__(self, kernel: Kernel, value: int = 1) -> None:
        super().__init__(kernel, value)
        self._initial_value = value

    def _give(self, n: int) -> None:
        if self._left + n > self._initial_value:
            raise ValueError("Semaphore released too many times")
        super()._give(n)


def _missed() -> bool:
    return False
