"""Systematic searches, shared out among processes: each searches some of the subtrees behind the first decisions.

    first decisions    all ways are tried, by every process alike: so none learns later that one was left out
    behind them        subtree number n is searched by process n modulo their number, in its own way; the others cut
                       their run short where it begins

Who has been tried sleeps in its siblings' branches whoever searches what lies behind it. So all processes together run
what one would, as long as all see the same steps: see `jobs`. Where few delays are spent nearly all is one subtree,
that without a delay in the first decisions: there, what is shared out is the first delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.base import Run, Strategy
from omni_ipc.testbed.strategies.delay_bounded import DelayBounded
from omni_ipc.testbed.strategies.depth_first import DepthFirst
from omni_ipc.testbed.strategies.preemption_bounded import PreemptionBounded
from omni_ipc.testbed.strategies.source_dpor import SourceDpor
from omni_ipc.testbed.tasks import Task

_DECISIONS = 5  # of two tasks 32 subtrees at most, of three 243


class _Shared(Strategy):
    """One process's share of a depth-first search.

    A run that is over within the first decisions is run by all, and counted as whole by the one whose number it has.
    """

    is_share = True
    _todo: Any  # the list, for each step of the run at hand, of what is left to be tried there

    def __init__(self, job: int, jobs: int, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._job = job
        self._jobs = jobs
        self._decisions: list[int] = []  # for each step: how many were taken up to it, of those tried in all ways
        self._subtree = 0  # number of the one at hand

    def next_prefix(self) -> Sequence[int] | None:
        prefix = super().next_prefix()
        kept = len(self._todo)
        del self._decisions[kept:]
        if kept and self._taken_before(kept - 1) < _DECISIONS:
            self._subtree += 1
        return prefix

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        if self._resumes():
            return super().choose(kernel, enabled)
        step = len(self._decisions)
        taken = self._taken_before(step)
        if taken == _DECISIONS and not self._is_own:
            return None
        chosen = super().choose(kernel, enabled)
        if chosen is not None:
            self._decisions.append(taken + (taken < _DECISIONS and self._has_others(step)))
        return chosen

    def learn(self, run: Run) -> None:
        super().learn(run)
        if not run.pruned and not self._is_own:
            self.whole -= 1

    def state(self) -> dict[str, Any]:
        return super().state() | {"share": [self._decisions, self._subtree]}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self._decisions, self._subtree = state["share"]

    @property
    def _is_own(self) -> bool:
        return self._subtree % self._jobs == self._job

    def _taken_before(self, step: int) -> int:
        return self._decisions[step - 1] if step else 0

    def _resumes(self) -> bool:
        """Tell whether the step is one that was decided on before the run."""
        return False

    def _has_others(self, step: int) -> bool:
        """Tell whether others than the task that was chosen can take a step."""
        return bool(self._todo[step])


class SharedDepthFirst(_Shared, DepthFirst):
    """One process's share of all schedules, or of one for each order of conflicting steps."""


class SharedDpor(_Shared, SourceDpor):
    """One process's share of the reduction."""

    def _resumes(self) -> bool:
        return self._next >= 0

    def _has_others(self, step: int) -> bool:
        return bool(self._enabled[step] & ~self._considered(step))

    def _take(self, run: Run, step: int) -> None:
        super()._take(run, step)
        if self._decisions[step] > self._taken_before(step):
            self._todo[step] |= self._ways(run, step, self._enabled[step] & ~self._considered(step))

    def _ways(self, run: Run, step: int, tasks: int) -> int:
        """Return those that are to be let go, of the tasks that can take a step."""
        return tasks


class SharedPreemptionBounded(SharedDpor, PreemptionBounded):
    """One process's share of the reduction within few preemptions."""

    def _ways(self, run: Run, step: int, tasks: int) -> int:
        return self._affordable(run, step, tasks)


class SharedDelayBounded(DelayBounded):
    """One process's share of all ways to spend few delays; the first one is in the schedule without any, of all."""

    is_share = True

    def __init__(self, job: int, jobs: int, delays: int) -> None:
        super().__init__(delays)
        self._job = job
        self._jobs = jobs
        self._ways = 0  # to spend the first delay

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task:
        chosen = super().choose(kernel, enabled)
        if self._order is None:
            first, self._ways = self._ways, self._ways + len(self._todo[-1])
            self._todo[-1] = [way for number, way in enumerate(self._todo[-1], first) if self._is_own(number)]
        return chosen

    def learn(self, run: Run) -> None:
        if self._order is None:
            self.whole -= self._job > 0
        super().learn(run)

    def _is_own(self, way: int) -> bool:
        return way % self._jobs == self._job
