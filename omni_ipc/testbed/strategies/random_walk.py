"""A random walk: at each step, each task that can go on is as likely as the others."""

from __future__ import annotations

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.sampler import Sampler
from omni_ipc.testbed.tasks import Task


class RandomWalk(Sampler):
    """Chooses among those who can go on, and has no idea of what they do."""

    title = "a random walk"

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task:
        if len(enabled) == 1:
            return enabled[0]
        return enabled[int(self._random() * len(enabled))]
