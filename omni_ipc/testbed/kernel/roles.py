"""Who takes part in a run beside its tasks: who decides at each point, and who looks on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from omni_ipc.testbed.operations import Subject
from omni_ipc.testbed.tasks import Task

if TYPE_CHECKING:
    from omni_ipc.testbed.kernel.kernel import Kernel


class Chooser(Protocol):
    """The part of a strategy that the kernel calls at each decision."""

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        """Return one of the tasks that can go on, the kernel's ``outside`` to suspend the run, or None to end it."""


class Observer(Protocol):
    """Looks on while a failing schedule is run again."""

    def step(self, kernel: Kernel, chosen: Task) -> None:
        """Take note of a decision: the step before it is over, and the chosen task has not taken its own yet."""

    def meet(self, subject: Subject) -> None:
        """Take note of something that a step touches beside the subject of its operation."""

    def settle(self) -> None:
        """Take note of how things stand at the end, before any task is unwound; the first call counts."""
