"""Depth-first search by re-execution: all schedules, or one of each set that differ only in what cannot matter.

When the steps of a task from some state have been explored, the task sleeps in the branches of its siblings until a
step is taken that conflicts with its own: both orders would lead to the same state. A step's conflicts are those that
were recorded when it was executed, so nothing needs to be known in advance. A run in which all who can go on sleep is
cut short.

Source: sleep sets after P. Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996, ch. 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omni_ipc.testbed.failures import unrepeatable
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.base import Run, Strategy
from omni_ipc.testbed.strategies.default import default_choice
from omni_ipc.testbed.strategies.estimate import runs_left
from omni_ipc.testbed.tasks import Task

Slept = tuple[int, int, int]
"""A task that sleeps: its index, and what its next step reads and writes."""


class DepthFirst(Strategy):
    """Explores one child of each node after the other.

    Args:
        reduce: leave out schedules that only swap steps which do not conflict.
    """

    _kept = ("_todo", "_entered", "_sleep", "_last")

    def __init__(self, *, reduce: bool) -> None:
        super().__init__()
        self.name = "depth-first" if reduce else "brute-force"
        self.distinct = self.reduces = reduce  # runs that were not cut short differ in the order of conflicting steps
        self._todo: list[list[int]] = []  # for each depth: tasks not yet taken there
        self._entered: list[int] = []  # for each depth: how many were
        self._sleep: list[list[Slept]] = []  # for each depth: tasks that sleep there
        self._last: Steps | None = None
        self._prefix: Sequence[int] = ()

    @property
    def ended(self) -> bool:
        return self._last is not None and not self._todo

    def next_prefix(self) -> Sequence[int] | None:
        if self._last is None:
            return ()
        order, reads, writes = self._last
        while self._todo:
            depth = len(self._todo) - 1
            if self.reduces and self._todo[depth]:
                self._sleep[depth].append((order[depth], reads[depth + 1], writes[depth + 1]))
            if self._todo[depth]:
                self._entered[depth] += 1
                self._prefix = (*order[:depth], self._todo[depth].pop())
                return self._prefix
            self._todo.pop()
            self._entered.pop()
            self._sleep.pop()
        return None

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        sleep = still_asleep(self._sleep[-1], kernel) if self._sleep else []
        if sleep and not (enabled := awake(enabled, sleep)):
            return None
        chosen = default_choice(kernel, enabled)
        self._todo.append([task.index for task in reversed(enabled) if task is not chosen] if len(enabled) > 1 else [])
        self._entered.append(1)
        self._sleep.append(sleep)
        return chosen

    def learn(self, run: Run) -> None:
        """Take note of a run.

        Raises:
            Inconclusive: its first steps were not what they were in the run before.
        """
        super().learn(run)
        self._last = require_same(self._last, run, len(self._prefix))

    def unreduced(self) -> Strategy:
        return DepthFirst(reduce=False)

    def left(self) -> float:
        nodes = zip(self._entered, self._todo, strict=True)
        return runs_left(self.runs, ((entered, entered + len(todo)) for entered, todo in nodes))

    def claim(self, runs: int, whole: int, *, ended: bool, cut: bool) -> str:
        if not ended:
            return super().claim(runs, whole, ended=ended, cut=cut)
        return orders(runs, whole) if self.reduces else schedules(whole, ended=True)

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self._prefix = ()


Steps = tuple[list[int], list[int], list[int]]
"""A run's order, reads and writes."""


def require_same(before: Steps | None, run: Run, shared: int) -> Steps:
    """Return what a run did, once its first steps are seen to be the same as in the run before.

    Raises:
        Inconclusive: they are not.
    """
    if before is not None and (run.reads[:shared] != before[1][:shared] or run.writes[:shared] != before[2][:shared]):
        raise unrepeatable(f"the first {shared} steps, run again in the same order, used other objects")
    return run.order, run.reads, run.writes


def orders(runs: int, whole: int) -> str:
    """Say that all orders of conflicting steps were run."""
    cut = runs - whole
    repeats = f" ({cut:,} {'repeats were' if cut > 1 else 'repeat was'} cut short)" if cut else ""
    all_orders = "the only order" if whole == 1 else f"all {whole:,} orders"
    return f"{all_orders} of conflicting steps{repeats}"


def schedules(whole: int, *, ended: bool) -> str:
    """Say how many schedules were run, and whether they are all that there are."""
    if whole == 1:
        return "the only schedule" if ended else "1 schedule"
    return f"{'all ' if ended else ''}{whole:,} schedules"


def awake(enabled: list[Task], sleep: list[Slept]) -> list[Task]:
    """Return those of the tasks that can go on which do not sleep."""
    asleep = {index for index, _, _ in sleep}
    return [task for task in enabled if task.index not in asleep]


def still_asleep(sleep: list[Slept], kernel: Kernel) -> list[Slept]:
    """Return who still sleeps after the last step: those whose next step does not conflict with it."""
    if not sleep:
        return []
    reads, writes = kernel.read_log[-1], kernel.write_log[-1]
    return [slept for slept in sleep if not (slept[2] & (reads | writes)) and not (slept[1] & writes)]
