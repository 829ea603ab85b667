"""Probabilistic concurrency testing: tasks run by priority, and at d - 1 steps drawn by lot the running one loses its.

A fault of depth d, which needs d things in a certain order, is found in each run with a probability of at least
1 / (n k^(d - 1)), where n tasks take k steps in all. Both are those of the run in the default order: a run of a seed is
the same whatever was run before, so longer ones teach it nothing, and the claim is about runs that are no longer.

Source: S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees
of Finding Bugs", ASPLOS 2010.
"""

from __future__ import annotations

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.profile import Profile
from omni_ipc.testbed.strategies.profiled import Profiled
from omni_ipc.testbed.tasks import Task


class PriorityWalk(Profiled):
    """Runs the task of the highest priority.

    Args:
        depth: of the faults that the bound is about, at least 1.
    """

    title = "PCT"

    def __init__(self, seed: int, profile: Profile | None = None, *, depth: int = 3) -> None:
        super().__init__(seed, profile)
        self.name = f"PCT-{depth}, seed {seed}"
        self._depth = depth
        self._priority: list[float] = []  # by index of a task; those of tasks that have lost theirs are below 0
        self._changes: dict[int, int] = {}  # at which steps the running task gets which priority

    def _begin(self) -> None:
        self._priority.clear()
        length = max(self.profile.length, 1)
        self._changes = {int(self._random() * length): -change for change in range(1, self._depth)}

    def _sample(self, kernel: Kernel, enabled: list[Task]) -> Task:
        priority = self._priority
        while len(priority) < len(kernel.tasks):
            priority.append(self._random())
        chosen = max(enabled, key=lambda task: priority[task.index])
        if (lowered := self._changes.get(kernel.depth)) is not None:
            priority[chosen.index] = lowered
            chosen = max(enabled, key=lambda task: priority[task.index])
        return chosen

    def summary(self) -> str:
        tasks, steps = max(len(self.profile.steps), 1), max(self.profile.length, 1)
        chance = 1 / (tasks * steps ** (self._depth - 1))
        return (
            f"{super().summary()}; a fault of depth {self._depth} shows in each with a probability of at least "
            f"1 / ({tasks} x {steps:,}^{self._depth - 1}) = {chance:.1e}, where runs take at most {steps:,} steps of "
            f"{tasks} tasks, as the first one did"
        )
