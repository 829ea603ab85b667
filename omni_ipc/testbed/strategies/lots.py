"""Chances for run after run, cheaply: to seed a generator costs as much as several steps of a run.

One seeding serves a block of runs, and each of them has a slice of the block to itself, so that run n draws the same
lots whoever does it, and whatever the others drew. A run that needs more has a generator of its own from then on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

_RUNS_OF_A_SEED = 1 << 40
_BLOCK = 64  # runs
_SLICE = 64  # lots
_BITS = 32
_SCALE = 2.0**-_BITS


class _Generator(random.Random):
    """A generator that may be seeded while a guard is open, and at no extra cost."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.reseed = super(random.Random, self).seed


class Lots:
    """Draws numbers that are at least 0 and below 1."""

    def __init__(self, seed: int) -> None:
        self._first = seed * _RUNS_OF_A_SEED
        self._of_block, self._of_run = _Generator(seed), _Generator(seed)
        self._block = -1
        self._place = 0

    def of(self, number: int) -> Callable[[], float]:
        """Return what draws for run number n."""
        block, place = divmod(number, _BLOCK)
        generator = self._of_block
        if block != self._block or place < self._place:
            generator.reseed(self._first + block)
            self._block, self._place = block, 0
        for _ in range(place - self._place):  # the slices of runs that others do
            generator.getrandbits(_SLICE * _BITS)
        self._place = place + 1
        bits = generator.getrandbits(_SLICE * _BITS)
        return self._draw(bits.to_bytes(_SLICE * _BITS // 8, "little"), number).__next__

    def _draw(self, slice_: bytes, number: int) -> Iterator[float]:
        for word in memoryview(slice_).cast("I"):
            yield word * _SCALE
        self._of_run.reseed(self._first - 1 - number)
        draw = self._of_run.random
        while True:
            yield draw()
