"""What an exploration has counted so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from omni_ipc.testbed.brief import in_full
from omni_ipc.testbed.orders import Repeats, schedule_number, signature
from omni_ipc.testbed.strategies.base import Run, Strategy


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """How far an exploration has come.

    Args:
        seconds: since it began, in this process.
        traces: distinct orders of conflicting steps seen to the end.
        left: schedules left, as far as that can be estimated.
        doing: the strategy at work.
    """

    schedules: int
    steps: int
    seconds: float
    traces: int = 0
    left: float | None = None
    doing: str = ""


class Tally:
    """Counts of an exploration.

    Args:
        name: of a bit; see `signature`.

    Attributes:
        schedules: runs, those that were cut short included.
        steps: of all of them.
        outcomes: distinct values that the scenario returned, as text.
        curtailed: bounds that left out continuations of runs, in words.
        most_tasks: tasks of the run that had most of them, those of event loops included.
        earlier_s: seconds spent before this process took over.
        forgotten: runs that are not counted, because the search began anew.
    """

    _KEPT = ("schedules", "steps", "_whole", "signatures", "outcomes", "curtailed", "forgotten", "most_tasks")

    def __init__(self, name: Callable[[int], int]) -> None:
        self._name = name
        self.began = perf_counter()
        self.earlier_s = 0.0
        self.schedules = self.forgotten = 0
        self.forget()

    def forget(self) -> None:
        """Begin anew, but for the time."""
        self.forgotten += self.schedules
        self.schedules = self.steps = self._whole = 0
        self.signatures: set[int] = set()
        self._repeats = Repeats()
        self.outcomes: set[str] = set()
        self.curtailed: set[str] = set()
        self.most_tasks = 0

    @property
    def none_has_ended(self) -> bool:
        """Whether each run was cut off by a bound, so that there is nothing to tell of."""
        return bool(self.curtailed) and not self._whole

    @property
    def elapsed_s(self) -> float:
        """Seconds since this process began."""
        return perf_counter() - self.began

    def add(self, run: Run, strategy: Strategy) -> bool:
        """Count a run, and tell whether it was known to be new: a whole one, of a new order of conflicting steps."""
        self.schedules += 1
        self.steps += len(run.order)
        if run.curtailed:
            self.curtailed |= run.curtailed
        if (tasks := len(run.births) + run.beside) > self.most_tasks:
            self.most_tasks = tasks
        if run.pruned:
            return False
        self._whole += 1
        if run.failure is None:
            self.outcomes.add(in_full(run.value))
        if strategy.distinct:
            return True
        schedule = run.schedule
        if schedule is None:
            schedule = schedule_number(run.order, run.reads, run.writes)
        if self._repeats.meet(schedule):
            return False
        before = len(self.signatures)
        self.signatures.add(signature(run, self._name))
        return len(self.signatures) > before

    def traces(self, strategy: Strategy) -> int:
        """Return how many distinct orders of conflicting steps were seen to the end."""
        return self._whole if strategy.distinct else len(self.signatures)

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._KEPT} | {"earlier_s": self.earlier_s + self.elapsed_s}

    def restore(self, state: Mapping[str, Any]) -> None:
        for name in (*self._KEPT, "earlier_s"):
            setattr(self, name, state[name])
