"""A pipeline of several ranks, which tells what each of them saw, and fails on those that it is told to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from omni_ipc.serving.requests import Request


class Ranked:
    """Its outputs name the rank that they come from; a request's ``fails`` lists ranks: "0", "1", "01"."""

    calls = frozenset({"place", "fail_to_sleep"})

    def __init__(self, *, rank: int, ranks: int, device: str) -> None:
        self._place = [rank, ranks, device]
        self._sleep_fails = False
        self._checked = 0

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        self._fail([str(request.options.get("fails", "")) for request in batch], "forward")
        return [{"rank": self._place[0], "sum": self._sum(request)} for request in batch]

    def step(self, batch: Sequence[Request]) -> list[Any]:
        return self.forward(batch)

    def sleep(self, level: int) -> None:
        if self._sleep_fails:
            self._sleep_fails = False
            raise RuntimeError("no memory")

    def wake(self) -> None:
        """Nothing was given back."""

    def place(self) -> list[Any]:
        """Tell rank, number of ranks, device, and the sum of all inputs so far."""
        return [*self._place, self._checked]

    def fail_to_sleep(self, rank: int) -> None:
        """Let the next sleep fail on one rank."""
        self._sleep_fails = rank == self._place[0]

    def _sum(self, request: Request) -> int:
        if request.inputs is None:
            return 0
        total = int(np.sum(request.inputs["latents"][:: 1 << 20], dtype=np.int64))
        self._checked += total
        return total

    def _fail(self, ranks: Sequence[str], where: str) -> None:
        rank = self._place[0]
        if any(str(rank) in each for each in ranks):
            raise RuntimeError(f"{where} failed on {rank}")
