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
from omni_ipc.testbed.strategies.sampling import Sampling
from omni_ipc.testbed.strategies.source_dpor import SourceDpor
from omni_ipc.testbed.strategies.surw import SelectivelyUniformWalk
from omni_ipc.testbed.strategies.uniform import UniformWalk

__all__ = ["STRATEGIES", "Run", "Strategy"]

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
