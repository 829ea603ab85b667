"""Pictures of times: what they show is what was counted, and the rare ones are seen."""

from __future__ import annotations

import re

from omni_ipc.histograms import Histogram, bin_of
from omni_ipc.report.soak.histogram import bars, filled, octaves, span, summary


def test_of_nothing_nothing_is_said() -> None:
    """An empty histogram has no middle, and no picture of more than its ground."""
    assert summary(Histogram()) is None
    assert filled([Histogram(), Histogram()]) == range(0)
    assert "<rect" not in bars(Histogram(), range(0))


def test_what_is_told_is_how_many_their_mean_and_what_shares_of_them_took_at_most() -> None:
    """Of a hundred: 50, 95, 99, and all."""
    figures = summary(Histogram({0: 50, 1: 45, 2: 4, 3: 1}, 0.001))
    assert figures == (100, 1e-5, (1e-6, 2e-6, 3e-6, 4e-6))


def test_pictures_over_the_same_bars_can_be_compared() -> None:
    """A bar lies at the same place in each; one of a single time among a million is still seen."""
    one, other = Histogram({2: 1_000_000, 5: 1}), Histogram({4: 2, 7: 3, 15: 5})
    places = filled([one, other])
    assert places == range(2, 5)
    place = re.compile(r'<rect x="([\d.]+)" y="[\d.]+" width="[\d.]+" height="([\d.]+)"><title>([^<]+)<')
    (first, rare), (same, _) = place.findall(bars(one, places)), place.findall(bars(other, places))
    assert rare[0] == same[0] != first[0]
    assert float(rare[1]) >= 1
    assert rare[2] == f"{span(3)}: 1" == "4 µs to 8 µs: 1"


def test_a_bar_holds_what_it_says() -> None:
    """A time from its lower edge on, and below its upper one; the first bar is below a microsecond."""
    assert (span(0), span(1)) == ("below 1 µs", "1 µs to 2 µs")
    for place in range(1, 30):
        edge_us = 1 << place
        assert octaves(Histogram({bin_of(edge_us - 1): 1})) == {place: 1}
        assert octaves(Histogram({bin_of(edge_us): 1})) == {place + 1: 1}
