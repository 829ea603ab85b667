"""The default order, and deviations from it."""

from __future__ import annotations

from collections.abc import Mapping

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Task


def default_choice(kernel: Kernel, enabled: list[Task]) -> Task:
    """Return the task that ran last if it can go on, else the oldest one that can."""
    last = kernel.last
    return last if last in enabled else enabled[0]


class DefaultOrder:
    """Lets each task run as far as it can."""

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task:
        return default_choice(kernel, enabled)


class Deviations:
    """The default order but for some steps.

    Args:
        wanted: step -> index of the task to take it; disregarded where that task cannot go on.

    Attributes:
        made: the steps at which the run did deviate.
    """

    def __init__(self, wanted: Mapping[int, int]) -> None:
        self._wanted = wanted
        self.made: dict[int, int] = {}

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task:
        usual = default_choice(kernel, enabled)
        wanted = self._wanted.get(kernel.depth)
        for task in enabled:
            if task.index == wanted and task is not usual:
                self.made[kernel.depth] = task.index
                return task
        return usual
