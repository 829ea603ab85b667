"""Along orders of regions that real processes took: of their other steps, and of other requests, nothing is known."""

from __future__ import annotations

from collections.abc import Sequence

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.default import default_choice
from omni_ipc.testbed.strategies.sampler import Sampler
from omni_ipc.testbed.tasks import Task

_NOISE = (0.0, 0.0, 0.02, 0.05, 0.1, 0.2)  # share of steps that are taken by lot, turn by turn


class Guided(Sampler):
    """Takes turns with the orders, first each as it is, then more and more freely.

    Whoever comes to a region that is due later waits; who comes to none goes on. A region that nobody can bring about
    any more, because all others wait as well, is passed over. So it comes to an end on any code.

    Args:
        orders: actions of regions ("Pump.Deliver"), in the order in which they were taken.
    """

    title = "guided by a recording"

    def __init__(self, seed: int, orders: Sequence[Sequence[str]]) -> None:
        super().__init__(seed)
        self._orders = orders
        self._order: Sequence[str] = ()
        self._at = 0  # the next region of the order
        self._noise = 0.0
        self._freely = False

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task:
        if self._noise and self._random() < self._noise:
            return enabled[int(self._random() * len(enabled))]
        while self._at < len(self._order):
            if (due := _at(enabled, self._order[self._at])) is not None:
                self._at += 1
                return due
            later = {*self._order[self._at :]}
            if helpers := [task for task in enabled if _action(task) not in later]:
                return self._any(kernel, helpers)
            self._at += 1
        return self._any(kernel, enabled)

    def _begin(self) -> None:
        turn, place = divmod(self.number - self.stride, len(self._orders))
        self._order, self._at = self._orders[place], 0
        self._noise = _NOISE[turn % len(_NOISE)]
        self._freely = turn > 0

    def _any(self, kernel: Kernel, tasks: list[Task]) -> Task:
        return tasks[int(self._random() * len(tasks))] if self._freely else default_choice(kernel, tasks)


def _at(tasks: Sequence[Task], action: str) -> Task | None:
    return next((task for task in tasks if _action(task) == action), None)


def _action(task: Task) -> str:
    return task.pending.action if task.pending is not None else ""
