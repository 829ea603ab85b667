"""The strategies, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omni_ipc.testbed.strategies.base import Run, Strategy
from omni_ipc.testbed.strategies.depth_first import DepthFirst
from omni_ipc.testbed.strategies.random_walk import RandomWalk
from omni_ipc.testbed.strategies.source_dpor import SourceDpor

__all__ = ["STRATEGIES", "Run", "Strategy"]

STRATEGIES: Mapping[str, Callable[[int], Strategy]] = {
    "dpor": lambda _seed: SourceDpor(),
    "depth-first": lambda _seed: DepthFirst(reduce=True),
    "brute-force": lambda _seed: DepthFirst(reduce=False),
    "random": RandomWalk,
}
"""Name -> what makes the strategy, given a seed."""
