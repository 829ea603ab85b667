"""Follows a trace step for step, as long as the code does."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from omni_ipc.records import Step
from omni_ipc.testbed.kernel import Chooser, Kernel
from omni_ipc.testbed.recorder import describe_step
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.where import locate


@dataclasses.dataclass(frozen=True, slots=True)
class Diverged:
    """Where a run left its trace.

    Args:
        step: number of steps that were taken as in the trace.
        expected: the next step of the trace.
        offered: what its task would have done instead; None if there is no such task.
        why: the difference in words.
    """

    step: int
    expected: Step
    offered: Step | None
    why: str

    def __str__(self) -> str:
        return f"step {self.step + 1} of the trace is {self.expected}, but {self.why}"


class Following:
    """Follows a trace as long as it can, and leaves the rest to a strategy.

    Attributes:
        followed: steps taken as in the trace.
    """

    def __init__(self, steps: Sequence[Step], then: Chooser) -> None:
        self._steps = steps
        self._then = then
        self._left: Diverged | None = None
        self._other_tasks: Diverged | None = None
        self.followed = 0

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        if self._left is not None or self.followed == len(self._steps):
            return self._then.choose(kernel, enabled)
        expected = self._steps[self.followed]
        task = find_task(kernel, enabled, expected)
        self._left = self._difference(expected, task, enabled)
        if self._left is not None:
            return self._then.choose(kernel, enabled)
        self._compare_tasks(expected, enabled)
        self.followed += 1
        return task

    def divergence(self) -> Diverged | None:
        """Return where the run that has ended left the trace, or else where other tasks than there could go on."""
        if self._left is not None:
            return self._left
        if self.followed < len(self._steps):
            return Diverged(self.followed, self._steps[self.followed], None, "the run had ended before it")
        return self._other_tasks

    def _difference(self, expected: Step, task: Task | None, enabled: Collection[Task]) -> Diverged | None:
        if task is None or task.pending is None:
            return Diverged(self.followed, expected, None, f"there is no living task '{expected.task}'")
        place = locate(task.frame())
        offered = describe_step(task, place)
        if not expected.fits(offered.action, offered.fields):
            why = f"the task offers {offered}{f' at {place}' if place else ''}"
        elif task not in enabled:
            why = f"there it waits for {task.pending.blocked_on()}"
        else:
            return None
        return Diverged(self.followed, expected, offered, why)

    def _compare_tasks(self, expected: Step, enabled: Collection[Task]) -> None:
        """Note the first step at which other tasks can go on than could in the trace."""
        if expected.others is None or self._other_tasks is not None:
            return
        then, now = {expected.task, *expected.others}, {task.name for task in enabled}
        if then != now:
            differences = [f"{_names(then - now)} could go on, too, and cannot now"] if then - now else []
            differences += [f"{_names(now - then)} can go on now, and could not"] if now - then else []
            self._other_tasks = Diverged(self.followed, expected, expected, f"there {'; '.join(differences)}")


def find_task(kernel: Kernel, enabled: Collection[Task], step: Step) -> Task | None:
    """Return the task, or the agent of a fault, whose step it is; of several with one name, that with its fields."""
    candidates = dict.fromkeys((*kernel.living, *enabled))
    named = [task for task in candidates if task.name == step.task and task.pending is not None]
    same = [task for task in named if task.pending is not None and task.pending.fields() == step.fields]
    return next(iter(same or named), None)


def _names(names: Collection[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))
