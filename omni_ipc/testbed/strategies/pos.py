"""Partial-order sampling: each step that is announced gets a priority by lot, and those that lose a race a new one.

The step of the highest priority is taken. A step that waits while one is taken that it conflicts with draws again, so
that rare orders of conflicting steps are not starved by how the others came to lie.

Source: X. Yuan, J. Yang, R. Gu, "Partial Order Aware Concurrency Sampling", CAV 2018.
"""

from __future__ import annotations

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.profile import Profile
from omni_ipc.testbed.strategies.profiled import Profiled
from omni_ipc.testbed.tasks import Task


class PartialOrderSampling(Profiled):
    """Takes the announced step of the highest priority."""

    title = "POS"

    def __init__(self, seed: int, profile: Profile | None = None) -> None:
        super().__init__(seed, profile)
        self._priority: dict[int, float] = {}  # by index of the task that has announced it

    def _begin(self) -> None:
        self._priority.clear()

    def _sample(self, kernel: Kernel, enabled: list[Task]) -> Task:
        priority, draw = self._priority, self._random
        if priority:
            reads, writes = kernel.read_log[-1], kernel.write_log[-1]
            both = reads | writes
            for task in enabled:
                if task.index in priority and self._races(task, both, writes):
                    priority[task.index] = draw()
        chosen, highest = enabled[0], -1.0
        for task in enabled:
            value = priority.get(task.index)
            if value is None:
                value = priority[task.index] = draw()
            if value > highest:
                chosen, highest = task, value
        del priority[chosen.index]
        return chosen

    def _races(self, task: Task, both: int, writes: int) -> bool:
        operation = task.pending
        assert operation is not None
        if operation.reads or operation.writes:
            return bool(operation.writes & both or operation.reads & writes)
        return bool(self.profile.touches(task) & both)
