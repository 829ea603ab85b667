"""``threading.Thread``, once started, under control."""

from __future__ import annotations

from omni_ipc.records import Field
from omni_ipc.testbed.identity import ASKED_LIVES
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import Owning, Reading, nothing
from omni_ipc.testbed.tasks import Task


class ControlledTask:
    """A handle on a task."""

    __slots__ = ("_kernel", "_task")

    def __init__(self, kernel: Kernel, task: Task) -> None:
        self._kernel = kernel
        self._task = task

    @property
    def name(self) -> str:
        return self._task.name

    @property
    def bit(self) -> int:
        return self._task.bit

    def join(self, timeout: float | None = None) -> None:
        if self._task is self._kernel.current:
            raise RuntimeError("cannot join current thread")
        self._kernel.perform_within(Owning("task.join", self, self._join, self._has_ended, nothing), timeout)

    def is_alive(self) -> bool:
        if not self._task.joined:
            self._kernel.identities.meet(ASKED_LIVES)
        return bool(self._kernel.perform(Reading("task.is_alive", self, lambda: not self._has_ended())))

    def label(self) -> dict[str, Field]:
        return {"task": self._task.name}

    def blocked_on(self) -> str:
        return f"the end of '{self._task.name}'"

    def holder(self) -> Task | None:
        return self._task

    def _join(self) -> None:
        self._kernel.join(self._task)

    def _has_ended(self) -> bool:
        return self._kernel.is_gone(self._task)
