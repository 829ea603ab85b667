"""What samples schedules: each run by a seed of its own, so that any process can do any of them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from omni_ipc.testbed.strategies.base import Strategy
from omni_ipc.testbed.strategies.novelty import Novelty

RUNS = 2_000  # of a sampler, unless the caller says how many
_RUNS_OF_A_SEED = 1 << 40


class Sampler(Strategy):
    """Samples schedules; run number n of a seed is always the same one.

    Attributes:
        number: of the next run.
        stride: from one run to the next; with n processes, each takes every n-th.
        novelty: how many of the last runs were new.
    """

    title = "sampling"
    _kept = ("number", "stride")

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.name = f"{self.title}, seed {seed}"
        self.number = 0
        self.stride = 1
        self.novelty = Novelty()
        self._seed = seed
        self._chance = random.Random(seed)
        self._random = self._chance.random
        self._reseed = super(random.Random, self._chance).seed  # which while a guard is open costs nothing more
        self._most: int | None = None

    def next_prefix(self) -> Sequence[int] | None:
        if self._most is not None and self.runs >= self._most:
            return None
        self._reseed(self._seed * _RUNS_OF_A_SEED + self.number)
        self.number += self.stride
        self._begin()
        return ()

    def shard(self, job: int, jobs: int) -> None:
        """Take every ``jobs``-th run only."""
        self.number, self.stride = job, jobs

    def allot(self, runs: int | None, seconds: float | None) -> None:
        self._most = RUNS if runs is None and seconds is None else None

    def note(self, new: bool) -> None:
        self.novelty.note(new)

    def _begin(self) -> None:
        """Prepare for a run."""

    def summary(self) -> str:
        return f"{self.runs:,} run{'s' if self.runs != 1 else ''} of {self.name}; {self.novelty}"

    def state(self) -> dict[str, Any]:
        return super().state() | {"novelty": self.novelty.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.novelty.restore(state["novelty"])
