"""Times counted in bins that are narrow everywhere: what is told of them is at most a sixteenth too high.

    0 1 2 … 15 | 16 17 … 31 | 32 34 … 62 | 64 68 … 124 | …      µs: where bins begin
    each 1 µs    each 1 µs    each 2 µs    each 4 µs

Each power of two is cut into 16 bins of the same width, so a bin is found by shifts, histograms are added bin by bin,
and there are no more than `BINS` of them. Source: HdrHistogram.
"""

from __future__ import annotations

import itertools
from typing import Annotated

import msgspec

BINS = 448
"""That there can be; the last one holds what took 17 minutes and more, however long."""

_BITS = 4
_PARTS = 1 << _BITS  # of each power of two


Place = Annotated[int, msgspec.Meta(ge=0, lt=BINS)]
Many = Annotated[int, msgspec.Meta(ge=0)]
Together = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class Histogram(msgspec.Struct, frozen=True):
    """How many took how long.

    Args:
        counts: bin -> how many; a bin without any is left out.
        total_s: of all together.
    """

    counts: dict[Place, Many] = {}
    total_s: Together = 0.0

    @property
    def many(self) -> int:
        """Tell how many there are."""
        return sum(self.counts.values())

    def __add__(self, other: Histogram) -> Histogram:
        """Count both together."""
        bins = sorted(self.counts.keys() | other.counts.keys())
        counts = {place: self.counts.get(place, 0) + other.counts.get(place, 0) for place in bins}
        return Histogram(counts, self.total_s + other.total_s)


def bin_of(microseconds: int) -> int:
    """Give the bin of a time."""
    shift = max(0, microseconds.bit_length() - _BITS - 1)
    return min((shift << _BITS) + (microseconds >> shift), BINS - 1)


def upper_edge_us(place: int) -> int:
    """Give the time below which all of a bin lie; microseconds."""
    shift = max(0, (place >> _BITS) - 1)
    return (place - (shift << _BITS) + 1) << shift


def within_us(histogram: Histogram, share: float) -> int:
    """Give a time that a share of them took at most: the upper edge of the bin in which it is reached; microseconds."""
    places = sorted(histogram.counts)
    reached = itertools.accumulate(map(histogram.counts.__getitem__, places))
    wanted = share * histogram.many
    return upper_edge_us(next(place for place, so_far in zip(places, reached, strict=True) if so_far >= wanted))
