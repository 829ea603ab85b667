"""All schedules that differ from the default order by a few delays.

The default order lets a task run as far as it can, and then the next one that can, by index. A delay passes over the
task whose turn it is. Few delays find most faults, and how many tasks there are does not matter.

Source: M. Emmi, S. Qadeer, Z. Rakamarić, "Delay-Bounded Scheduling", POPL 2011.
"""

from __future__ import annotations

from collections.abc import Sequence

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.base import Run, Strategy
from omni_ipc.testbed.strategies.default import default_choice
from omni_ipc.testbed.strategies.depth_first import schedules
from omni_ipc.testbed.strategies.estimate import runs_left
from omni_ipc.testbed.tasks import Task


class DelayBounded(Strategy):
    """Explores all ways to spend at most so many delays."""

    _kept = ("_todo", "_entered", "_order", "cut")

    def __init__(self, delays: int) -> None:
        super().__init__()
        self.name = f"delay-bounded ({delays})"
        self._delays = delays
        self._todo: list[list[tuple[int, int]]] = []  # for each depth: tasks not yet taken, and delays spent with them
        self._entered: list[int] = []
        self._order: list[int] | None = None
        self._spent = 0

    @property
    def ended(self) -> bool:
        return self._order is not None and not self._todo

    def next_prefix(self) -> Sequence[int] | None:
        if self._order is None:
            return ()
        while self._todo:
            depth = len(self._todo) - 1
            if self._todo[depth]:
                self._entered[depth] += 1
                index, self._spent = self._todo[depth].pop()
                return (*self._order[:depth], index)
            self._todo.pop()
            self._entered.pop()
        return None

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task:
        chosen = default_choice(kernel, enabled)
        todo: list[tuple[int, int]] = []
        if len(enabled) > 1:
            turn = enabled.index(chosen)
            others = enabled[turn + 1 :] + enabled[:turn]
            affordable = self._delays - self._spent
            self.cut |= len(others) > affordable
            todo = [(task.index, self._spent + delay) for delay, task in enumerate(others[:affordable], 1)][::-1]
        self._todo.append(todo)
        self._entered.append(1)
        return chosen

    def learn(self, run: Run) -> None:
        super().learn(run)
        self._order = run.order

    def left(self) -> float:
        nodes = zip(self._entered, self._todo, strict=True)
        return runs_left(self.runs, ((entered, entered + len(todo)) for entered, todo in nodes))

    def claim(self, runs: int, whole: int, *, ended: bool, cut: bool) -> str:
        delays = "1 delay" if self._delays == 1 else f"{self._delays} delays"
        return schedules(whole, ended=ended) + (f" of at most {delays}" if cut or not ended else "")
