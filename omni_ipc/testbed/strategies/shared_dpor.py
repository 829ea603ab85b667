"""The reduction, shared out among processes: each searches some of the subtrees behind the first decisions.

    first decisions    all ways are tried, by every process alike: so none learns later that one was left out
    behind them        subtree number n is searched by process n modulo their number, as source-DPOR does; the others
                       cut their run short where it begins

Who has been tried sleeps in its siblings' branches whoever searches what lies behind it. So all processes together run
each order of conflicting steps, as long as all see the same steps: see `jobs`.
"""

from __future__ import annotations

from collections.abc import Sequence

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.source_dpor import SourceDpor
from omni_ipc.testbed.tasks import Task

_DECISIONS = 5  # of two tasks 32 subtrees at most, of three 243


class SharedDpor(SourceDpor):
    """One process's share of the reduction.

    A run that is over within the first decisions is run by all, and counted as whole by the one whose number it has.
    """

    _kept = (*SourceDpor._kept, "_decisions", "_subtree")

    def __init__(self, job: int, jobs: int) -> None:
        super().__init__()
        self._job = job
        self._jobs = jobs
        self._decisions: list[int] = []  # for each step: how many were taken up to it, of those tried in all ways
        self._subtree = 0  # number of the one at hand

    def next_prefix(self) -> Sequence[int] | None:
        prefix = super().next_prefix()
        del self._decisions[len(self._todo) :]
        if prefix is not None and self._last is not None and self._taken_before(self._shared) < _DECISIONS:
            self._subtree += 1
        return prefix

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        if self._next >= 0:
            return super().choose(kernel, enabled)
        step = len(self._decisions)
        taken = self._taken_before(step)
        if taken == _DECISIONS and not self._is_own:
            return None
        chosen = super().choose(kernel, enabled)
        if chosen is None:
            return None
        if taken < _DECISIONS and (others := self._enabled[step] & ~self._considered(step)):
            self._todo[step] = others
            taken += 1
        self._decisions.append(taken)
        return chosen

    def learn(self, run: Run) -> None:
        super().learn(run)
        if not run.pruned and not self._is_own:
            self.whole -= 1

    @property
    def _is_own(self) -> bool:
        return self._subtree % self._jobs == self._job

    def _taken_before(self, step: int) -> int:
        return self._decisions[step - 1] if step else 0

    def summary(self) -> str:
        share = f"share {self._job + 1} of {self._jobs} of all orders of conflicting steps"
        return share if self.exhausted else f"{self.runs:,} schedules of {share}"
