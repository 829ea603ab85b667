"""Times in bins: what is said of them is true, and the picture shows the rare ones."""

from __future__ import annotations

import re
from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from omni_ipc.accounts import Histogram
from omni_ipc.report.soak.histogram import bars, filled, span, summary

EDGES_US = [2**place for place in range(40)]


def binned(times_us: list[int]) -> Histogram:
    """Count times as a soak does."""
    counts = [0] * 41
    for time_us in times_us:
        counts[bisect_right(EDGES_US, time_us)] += 1
    return Histogram(tuple(counts), sum(times_us) / 1e6)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=300))
def test_figures_are_upper_edges_that_are_at_most_twice_too_high(times_us: list[int]) -> None:
    """Of the one in the middle, of the one of 99 in 100, and of the longest; the mean is exact."""
    figures = summary(binned(times_us))
    assert figures is not None
    ordered = sorted(times_us)
    ranks = ((figures.half_s, 0.5), (figures.most_s, 0.99), (figures.longest_s, 1.0))
    for told_s, share in ranks:
        true_us = ordered[max(-int(-len(ordered) * share // 1), 1) - 1]
        assert true_us < told_s * 1e6 <= max(2 * true_us, 1)
    assert figures.many == len(times_us)
    assert abs(figures.mean_s - sum(times_us) / len(times_us) / 1e6) <= 1e-9 * (1 + figures.mean_s)


def test_of_nothing_nothing_is_said() -> None:
    """An empty histogram has no middle, and no picture of more than its ground."""
    assert summary(Histogram()) is summary(Histogram((0, 0), 0.0)) is None
    assert filled([Histogram(), Histogram((0, 0))]) == range(0)
    assert "<rect" not in bars(Histogram(), range(0))


def test_pictures_over_the_same_bins_can_be_compared() -> None:
    """A bin lies at the same place in each; one of a single time among a million is still seen."""
    one, other = Histogram((0, 0, 1_000_000, 1)), Histogram((0, 0, 0, 5, 5))
    places = filled([one, other])
    assert places == range(2, 5)
    place = re.compile(r'<rect x="([\d.]+)" y="[\d.]+" width="[\d.]+" height="([\d.]+)"><title>([^<]+)<')
    (first, rare), (same, _) = place.findall(bars(one, places)), place.findall(bars(other, places))
    assert rare[0] == same[0] != first[0]
    assert float(rare[1]) >= 1
    assert rare[2] == f"{span(3)}: 1" == "4 µs to 8 µs: 1"


def test_the_first_bin_is_below_a_microsecond() -> None:
    """As the account says."""
    assert (span(0), span(1)) == ("below 1 µs", "1 µs to 2 µs")
