"""Records the steps of a run in words, for the one schedule that is worth it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from omni_ipc.records import Step
from omni_ipc.testbed.buffering import Drain
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.where import locate_here


class Recorder:
    """Notes each operation when it is announced; from a run's order follows which of them were performed, and when."""

    def __init__(self, kernel: Kernel) -> None:
        self._announced: dict[int, list[Step]] = defaultdict(list)
        kernel.observer = self._note

    def _note(self, task: Task) -> None:
        if task.pending is not None:
            where = task.where if isinstance(task, Drain) else locate_here()
            self._announced[task.index].append(describe_step(task, where))

    def steps(self, order: Sequence[int]) -> tuple[Step, ...]:
        """Return the steps that were taken, in order."""
        announced = {index: iter(steps) for index, steps in self._announced.items()}
        return tuple(next(announced[index]) for index in order)


def describe_step(task: Task, where: str | None = None) -> Step:
    """Put the pending operation of a task into words."""
    assert task.pending is not None
    return Step(task.name, task.pending.action, task.pending.fields(), where)
