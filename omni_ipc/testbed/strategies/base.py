"""What a strategy is, and what it learns from a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from omni_ipc.records import Failure, Step
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Task


class Run(msgspec.Struct, frozen=True):
    """One run of a scenario, over.

    Args:
        order: index of the task that took step k.
        keys: identity of each task by index; the same in every schedule, as the index is not.
        reads, writes: bits of the objects that were touched; item 0 before the first step, item k + 1 in step k.
        value: what the scenario returned.
        pruned: whether the strategy cut it short.
        quiet_since: the number of steps after which only timers fired, if that is how it ended, else all.
        births: by index of a task, the step in which it began; -1 is before the first one.
        beside: how many asyncio tasks began while another one of their loop lived.
        jumps: numbers of steps that had been taken when time passed.
        waiting: operations that were announced and not performed: the task's index, what they read and write.
        schedule: a number that all runs of the same schedule share, if it was asked for.
        curtailed: bounds that left out some of its continuations, in words.
        steps: the same as ``order`` in words, if the run was recorded.
        pending: what living tasks, by index, had announced at the end, if the run was recorded.
    """

    order: list[int]
    keys: list[int]
    reads: list[int]
    writes: list[int]
    value: object
    failure: Failure | None
    pruned: bool
    quiet_since: int
    schedule: int | None = None
    steps: tuple[Step, ...] = ()
    pending: tuple[tuple[int, Step], ...] = ()
    curtailed: frozenset[str] = frozenset()
    births: dict[int, int] = {}
    beside: int = 0
    jumps: list[int] = []
    waiting: list[tuple[int, int, int]] = []


class Strategy:
    """Decides which schedules to run.

    Attributes:
        name: in reports.
        reduces: whether it leaves out what only swaps steps that do not conflict, as far as conflicts are known.
        distinct: whether no two of its whole runs order all conflicting steps in the same way.
        is_share: whether other processes run the rest of what it would run.
        runs, whole: how many runs it has learned from, and how many of them were not cut short.
        cut: whether a bound has kept anything from being run.
    """

    name = ""
    reduces = False
    distinct = False
    is_share = False
    _kept: tuple[str, ...] = ()  # attributes of plain values that are its state beside the counts

    def __init__(self) -> None:
        self.runs = 0
        self.whole = 0
        self.cut = False

    @property
    def ended(self) -> bool:
        """Whether a search has nothing left to run."""
        return False

    @property
    def exhausted(self) -> bool:
        """Whether, when nothing is left to run, all has been run that can matter."""
        return self.ended and not self.cut

    @property
    def searched(self) -> int | None:
        """How many orders a reduced search came to, which has ended, and had others sample beside it; else None."""
        return None

    def next_prefix(self) -> Sequence[int] | None:
        """Return the tasks that take the first steps of the next run, or None when there is nothing left to run."""
        return ()

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        """Choose who takes the next step, of the tasks that can, by index; None cuts the run short."""
        raise NotImplementedError

    def learn(self, run: Run) -> None:
        """Take note of a run that has ended."""
        self.runs += 1
        self.whole += not run.pruned

    def note(self, new: bool) -> None:
        """Take note of whether the order of conflicting steps in the last run was new."""

    def allot(self, runs: int | None, seconds: float | None) -> None:
        """Take note of how much there is to spend in all."""

    def unreduced(self) -> Strategy:
        """Return a fresh one that leaves nothing out, because conflicts are not known in full."""
        return self

    def left(self) -> float | None:
        """Estimate how many runs are left; None if there is no telling."""
        return None

    def summary(self) -> str:
        """Say what was run, for a report: "all 4 orders of conflicting steps", "20 runs of POS, seed 7"."""
        return self.claim(self.runs, self.whole, ended=self.ended, cut=self.cut)

    def claim(self, runs: int, whole: int, *, ended: bool, cut: bool) -> str:
        """Say the same of so many runs, that several processes have shared."""
        return f"{runs:,} schedule{'s' if runs != 1 else ''} of {self.name}"

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs to go on, in plain values, between two runs."""
        return {name: getattr(self, name) for name in ("runs", "whole", *self._kept)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        for name in ("runs", "whole", *self._kept):
            setattr(self, name, state[name])
