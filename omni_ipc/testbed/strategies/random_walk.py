"""A random walk: at each step, each task that can go on is as likely as the others."""

from __future__ import annotations

import random
from collections.abc import Sequence

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.tasks import Task


class RandomWalk:
    """Samples schedules; the same seed gives the same ones."""

    name = "random"
    exhaustive = False
    distinct = False

    def __init__(self, seed: int) -> None:
        self.name = f"random walk, seed {seed}"
        self._random = random.Random(seed).random

    def next_prefix(self) -> Sequence[int] | None:
        return ()

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        return enabled[int(self._random() * len(enabled))]

    def learn(self, run: Run) -> None:
        pass
