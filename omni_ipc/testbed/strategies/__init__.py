"""The strategies, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omni_ipc.testbed.strategies.base import Run, Strategy
from omni_ipc.testbed.strategies.delay_bounded import DelayBounded
from omni_ipc.testbed.strategies.depth_first import DepthFirst
from omni_ipc.testbed.strategies.pct import PriorityWalk
from omni_ipc.testbed.strategies.portfolio import Portfolio
from omni_ipc.testbed.strategies.pos import PartialOrderSampling
from omni_ipc.testbed.strategies.preemption_bounded import PreemptionBounded
from omni_ipc.testbed.strategies.random_walk import RandomWalk
from omni_ipc.testbed.strategies.sampler import Sampler
from omni_ipc.testbed.strategies.sampling import Sampling
from omni_ipc.testbed.strategies.shared import (
    SharedDelayBounded,
    SharedDepthFirst,
    SharedDpor,
    SharedPreemptionBounded,
)
from omni_ipc.testbed.strategies.source_dpor import SourceDpor
from omni_ipc.testbed.strategies.surw import SelectivelyUniformWalk
from omni_ipc.testbed.strategies.uniform import UniformWalk

__all__ = ["STRATEGIES", "Run", "Strategy", "share_of"]

STRATEGIES: Mapping[str, Callable[[int], Strategy]] = {
    "portfolio": Portfolio,
    "dpor": lambda _seed: SourceDpor(),
    "preemption-bounded": lambda _seed: PreemptionBounded(2),
    "delay-bounded": lambda _seed: DelayBounded(2),
    "sampling": Sampling,
    "surw": SelectivelyUniformWalk,
    "pos": PartialOrderSampling,
    "pct": PriorityWalk,
    "urw": UniformWalk,
    "random": RandomWalk,
    "depth-first": lambda _seed: DepthFirst(reduce=True),
    "brute-force": lambda _seed: DepthFirst(reduce=False),
}
"""Name -> what makes the strategy, given a seed."""


def share_of(name: str, seed: int, job: int, jobs: int) -> Strategy:
    """Make one process's share of a strategy; of the portfolio, the first one searches, and the others sample."""
    strategy = STRATEGIES[name](seed)
    if jobs > 1 and isinstance(strategy, Portfolio):
        if job == 0:
            return Portfolio(seed, samples=False)
        strategy, job, jobs = Sampling(seed), job - 1, jobs - 1
    if isinstance(strategy, Sampler):
        strategy.shard(job, jobs)
        return strategy
    return _SHARED[name](job, jobs) if jobs > 1 else strategy


_SHARED: Mapping[str, Callable[[int, int], Strategy]] = {
    "dpor": SharedDpor,
    "preemption-bounded": lambda job, jobs: SharedPreemptionBounded(job, jobs, 2),
    "delay-bounded": lambda job, jobs: SharedDelayBounded(job, jobs, 2),
    "depth-first": lambda job, jobs: SharedDepthFirst(job, jobs, reduce=True),
    "brute-force": lambda job, jobs: SharedDepthFirst(job, jobs, reduce=False),
}
