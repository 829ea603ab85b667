"""A random walk: at each step, each task that can go on is as likely as the others."""

from __future__ import annotations

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.sampler import Sampler
from omni_ipc.testbed.tasks import Task

_HALF = 0.5


class RandomWalk(Sampler):
    """Chooses among those who can go on, and has no idea of what they do."""

    title = "a random walk"

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task:
        count = len(enabled)
        if count == 2:  # as most often
            return enabled[self._random() >= _HALF]
        return enabled[int(self._random() * count)] if count > 1 else enabled[0]
