"""Times in bins: what is told of them is true, and nearly what they were."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_ipc.histograms import BINS, Histogram, bin_of, upper_edge_us, within_us

TIMES_US = st.lists(st.integers(0, 10**9), min_size=1, max_size=200)


def binned(times_us: list[int]) -> Histogram:
    """Count times as a soak does, one after the other."""
    return sum((Histogram({bin_of(time_us): 1}, time_us / 1e6) for time_us in times_us), Histogram())


@given(TIMES_US, st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_what_a_share_took_at_most_is_told_a_sixteenth_too_high_at_worst(times_us: list[int], share: float) -> None:
    """Of whole microseconds; and never too low."""
    true_us = sorted(times_us)[max(math.ceil(len(times_us) * share), 1) - 1]
    assert true_us < within_us(binned(times_us), share) <= max(true_us + 1, true_us * 17 / 16)


@given(TIMES_US, TIMES_US)
def test_two_together_are_as_if_they_had_been_counted_in_one(one_us: list[int], other_us: list[int]) -> None:
    """So the shares of shards, and of rounds, are those of all."""
    both, together = binned(one_us) + binned(other_us), binned(one_us + other_us)
    assert both.counts == together.counts
    assert both.many == len(one_us) + len(other_us)
    assert math.isclose(both.total_s, together.total_s, abs_tol=1e-9)


def test_bins_lie_side_by_side_and_the_last_one_holds_all_above() -> None:
    """Each begins where the one before ends."""
    assert [bin_of(upper_edge_us(place)) for place in range(BINS - 1)] == [*range(1, BINS)]
    assert bin_of(0) == 0
    assert bin_of(1 << 60) == BINS - 1
    assert upper_edge_us(BINS - 2) >= 17 * 60 * 10**6


@pytest.mark.parametrize(
    "text", ['{"counts":{"448":1}}', '{"counts":{"-1":1}}', '{"counts":{"1":-1}}', '{"total_s":-1.0}']
)
def test_what_no_soak_can_have_counted_is_refused(text: str) -> None:
    """A file may hold anything."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Histogram)


def test_a_histogram_is_the_same_when_it_is_read_back() -> None:
    """From an account, where bins are the names of fields."""
    histogram = Histogram({3: 1, 400: 2}, 5.0)
    assert msgspec.json.decode(msgspec.json.encode(histogram), type=Histogram) == histogram
