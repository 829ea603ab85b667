"""A process, as far as others see it: tasks that live and die together."""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.records import Field
from omni_ipc.testbed.identity import ASKED_LIVES
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.objects.task import ControlledTask
from omni_ipc.testbed.operations import Operation, Reading, nothing
from omni_ipc.testbed.tasks import Task


class ControlledProcess(Controlled):
    """Starts tasks that stand for the threads of one process; so are those that they start.

    It ends with its last task, or when a fault kills it: see `faults.Kill`.
    """

    kind = "process"

    def __init__(self, kernel: Kernel, name: str, spawn: Callable[..., ControlledTask]) -> None:
        super().__init__(kernel)
        self._group = kernel.group(name)
        self._spawn = spawn

    @property
    def name(self) -> str:
        return self._group.name

    def spawn(self, fn: Callable[..., object], *args: object, name: str) -> ControlledTask:
        """Start a task of this process."""
        return self._spawn(fn, args, name, self._group)

    def is_alive(self) -> bool:
        """Tell whether any task of it lives; one that has not been started does not."""
        self.kernel.identities.meet(ASKED_LIVES)
        return bool(self.kernel.perform(self._looking("process.is_alive", self._lives)))

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, as one waits for a descriptor of a process to become ready."""
        operation = self._looking("process.join", nothing)
        operation.enabled = lambda: not self._lives()
        operation.expire = nothing
        self.kernel.perform_within(operation, timeout)

    def ending(self) -> str | None:
        """Tell how it ended, or None while it lives."""
        self.kernel.identities.meet(ASKED_LIVES)
        return self.kernel.perform(self._looking("process.ending", self._ending))  # type: ignore[no-any-return]

    def _looking(self, action: str, execute: Callable[[], object]) -> Operation:
        operation = Reading(action, self, execute)
        operation.reads = self._group.bit
        for task in self._group.tasks:
            operation.reads |= task.bit
        return operation

    def _lives(self) -> bool:
        return not all(map(self.kernel.is_gone, self._group.tasks))

    def _ending(self) -> str | None:
        if self._lives():
            return None
        return "killed by SIGKILL" if self._group.killed else "it ended with exit status 0"

    def label(self) -> dict[str, Field]:
        return {"process": self.name}

    def blocked_on(self) -> str:
        return f"the end of process '{self.name}'"

    def holder(self) -> Task | None:
        alive = [task for task in self._group.tasks if not task.ended]
        return alive[0] if len(alive) == 1 else None
