"""The default order, and deviations from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


class Deviating:
    """The default order, except where a subclass wants something else.

    Attributes:
        made: step -> index of the task that took it out of the default order.
    """

    def __init__(self) -> None:
        self.made: dict[int, int] = {}

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task:
        usual = default_choice(kernel, enabled)
        chosen = self._wanted(kernel, enabled) or usual
        if chosen is not usual:
            self.made[kernel.depth] = chosen.index
        return chosen

    def _wanted(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        raise NotImplementedError


class Deviations(Deviating):
    """Deviates at given steps.

    Args:
        wanted: step -> index or name of the task to take it; disregarded where that task cannot go on.
    """

    def __init__(self, wanted: Mapping[int, int | str]) -> None:
        super().__init__()
        self._at = wanted

    def _wanted(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        wanted = self._at.get(kernel.depth)
        return next((task for task in enabled if wanted in (task.index, task.name)), None)


class Sequenced(Deviating):
    """Lets tasks take steps in a given sequence, then in the default order.

    Args:
        order: indices of tasks; one that cannot go on when it is its turn is passed over.
    """

    def __init__(self, order: Iterable[int]) -> None:
        super().__init__()
        self._order = iter(order)

    def _wanted(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        for index in self._order:
            for task in enabled:
                if task.index == index:
                    return task
        return None
