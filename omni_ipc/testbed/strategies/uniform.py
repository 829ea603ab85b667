"""A walk that is uniform over schedules, and not over choices: URW.

A task that has many steps left is chosen more often: who has n of m steps left, with a chance of n in m. If the tasks
are known in full and none ever waits, all schedules are equally likely. A task that has not begun counts with the one
that will start it.

Source: H. Zhao, D. Wolff, U. Mathur, A. Roychoudhury, "Selectively Uniform Concurrency Testing", ASPLOS 2025.
"""

from __future__ import annotations

from collections.abc import Sequence

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.profile import Profile, Remaining
from omni_ipc.testbed.strategies.profiled import Profiled
from omni_ipc.testbed.tasks import Task


class UniformWalk(Profiled):
    """Weighs tasks by the steps that they have left."""

    title = "URW"

    def __init__(self, seed: int, profile: Profile | None = None) -> None:
        super().__init__(seed, profile)
        self._remaining: Remaining | None = None

    def _begin(self) -> None:
        self._remaining = self._remaining or Remaining(self.profile.counts())
        self._remaining.begin()

    def _sample(self, kernel: Kernel, enabled: list[Task]) -> Task:
        assert self._remaining is not None
        left = self._remaining.meet(kernel)
        chosen = weighted(self._random(), enabled, [left[task.index] for task in enabled])
        left[chosen.index] = max(left[chosen.index] - 1, 0)
        return chosen


def weighted(chance: float, tasks: Sequence[Task], weights: Sequence[int]) -> Task:
    """Choose a task by weight; with equal chances if none has any.

    Args:
        chance: at least 0, below 1.
    """
    total = sum(weights)
    if not total:
        return tasks[int(chance * len(tasks))]
    point = chance * total
    for task, weight in zip(tasks, weights, strict=True):
        point -= weight
        if point < 0:
            return task
    return tasks[-1]
