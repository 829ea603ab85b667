"""The portfolio: what finds most faults soonest goes first, and what can rule them out comes last, if it can be paid.

    1  the default order, from which the others learn what tasks there are, and what they share
    2  source-DPOR for a moment, then sampling for a moment: most faults show here, and small scenarios are done with
    3  schedules that are one delay away from the default order
    4  source-DPOR for a while
    5  sampling: of ten runs, five are SURW's, two POS's, one each PCT-3's, URW's and a random walk's; left out if an
       estimate says that it costs more than to search to the end
    6  source-DPOR again, to the end if an estimate says that it can be reached; otherwise with few preemptions first

Sampling stops before its share is spent when few of its last runs were new: see `Novelty`.

Source: the shares of the samplers follow the schedules to the first bug on SCTBench in H. Zhao et al., ASPLOS 2025.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.base import Run, Strategy
from omni_ipc.testbed.strategies.delay_bounded import DelayBounded
from omni_ipc.testbed.strategies.depth_first import DepthFirst
from omni_ipc.testbed.strategies.preemption_bounded import PreemptionBounded
from omni_ipc.testbed.strategies.sampling import Sampling
from omni_ipc.testbed.strategies.source_dpor import SourceDpor
from omni_ipc.testbed.tasks import Task

RUNS = 20_000  # to spend, unless the caller says how much
_MOMENT, _WHILE = 30, 200  # runs
_PREEMPTIONS = 2
_CHEAP = 0.1  # share of what is left to spend for which it is better to search to the end than to sample
_OPTIMISM = 2  # how far an estimate may exceed what can be paid


class Portfolio(Strategy):
    """Several strategies in rounds.

    Args:
        reduce: leave out schedules that only swap steps which do not conflict.
        samples: sample schedules; not needed if other processes do.
    """

    name = "portfolio"
    _kept = ("_round", "_began_runs")

    def __init__(self, seed: int, *, reduce: bool = True, samples: bool = True) -> None:
        super().__init__()
        self.reduces = reduce
        self._seed = seed
        self._samples = samples
        self._sampling = Sampling(seed)
        self._delays = DelayBounded(1)
        self._search: Strategy = SourceDpor() if reduce else DepthFirst(reduce=False)
        self._few = PreemptionBounded(_PREEMPTIONS)
        searching, sampling = self._search, self._sampling
        self._rounds: list[Strategy] = [sampling, searching, sampling, self._delays, searching, sampling, searching]
        self._rounds += [self._few, searching] if reduce else []
        self._round = 0
        self._began_runs = 0  # of the round
        self._began = self._now = perf_counter()
        self._began_round = self._began
        self._runs: int | None = RUNS
        self._seconds: float | None = None

    @property
    def exhausted(self) -> bool:
        return any(strategy.exhausted for strategy in (self._search, self._few, self._delays))

    @property
    def searched(self) -> int | None:
        return self._search.whole if self.reduces and self._search.exhausted else None

    @property
    def _active(self) -> Strategy:
        return self._rounds[min(self._round, len(self._rounds) - 1)]

    def allot(self, runs: int | None, seconds: float | None) -> None:
        self._runs = RUNS if runs is None and seconds is None else runs
        self._seconds = seconds

    def next_prefix(self) -> Sequence[int] | None:
        if self._seconds is not None:
            self._now = perf_counter()
        while self._round < len(self._rounds) and not (self._runs is not None and self.runs >= self._runs):
            if not self._is_over():
                prefix = self._active.next_prefix()
                if prefix is not None:
                    return prefix
                if self._active.exhausted:
                    return None
            self._round += 1
            self._began_runs, self._began_round = self.runs, self._now
        return None

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        return self._active.choose(kernel, enabled)

    def learn(self, run: Run) -> None:
        super().learn(run)
        self._active.learn(run)

    def note(self, new: bool) -> None:
        self._active.note(new)

    def _is_over(self) -> bool:
        """Tell whether the round at hand has had its share."""
        done = self.runs - self._began_runs
        match self._round:
            case 0:
                return done >= 1
            case 1 | 2:
                return done >= _MOMENT or self._has_spent(0.1) or (self._round == 2 and not self._samples)
            case 3 | 4:
                return done >= _WHILE or self._has_spent(0.1)
            case 5:
                is_idle = not self._samples or (done == 0 and self._can_be_ended(_CHEAP))
                return is_idle or self._sampling.novelty.is_spent or self._has_spent(0.5)
            case 6:
                return done == 0 and not self._can_be_ended(_OPTIMISM)
        return False

    def _has_spent(self, share: float) -> bool:
        if self._runs is not None and self.runs - self._began_runs >= self._runs * share:
            return True
        return self._seconds is not None and self._now - self._began_round >= self._seconds * share

    def _can_be_ended(self, share: float) -> bool:
        """Tell whether such a share of what is left to spend will do for what is left to search."""
        left, most = self._search.left() or 0.0, float("inf")
        if self._runs is not None:
            most = self._runs - self.runs
        if self._seconds is not None:
            spent = self._now - self._began
            most = min(most, self.runs * max(self._seconds - spent, 0.0) / max(spent, 1e-9))
        return left <= most * share

    def unreduced(self) -> Strategy:
        fresh = Portfolio(self._seed, reduce=False, samples=self._samples)
        fresh.allot(self._runs, self._seconds)
        return fresh

    def left(self) -> float | None:
        return self._search.left() if self._search.runs else None

    def summary(self) -> str:
        for strategy in (self._search, self._few, self._delays):
            if strategy.exhausted:
                return strategy.summary()
        return "; ".join(strategy.summary() for strategy in dict.fromkeys(self._rounds) if strategy.runs)

    def state(self) -> dict[str, Any]:
        return super().state() | {"parts": [part.state() for part in dict.fromkeys(self._rounds)]}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        for part, kept in zip(dict.fromkeys(self._rounds), state["parts"], strict=True):
            part.restore(kept)
