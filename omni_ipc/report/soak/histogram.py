"""Times in bins, as a few figures, and as a picture small enough for a cell of a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

from markupsafe import Markup

from omni_ipc.accounts import Histogram
from omni_ipc.report.quantities import duration

_WIDTH, _HEIGHT = 220.0, 26.0
_LEAST = 1.5  # high, so that a bin with a single one among millions is seen


class Summary(NamedTuple):
    """A histogram in figures. All but the mean are upper edges of bins: the true one is at most that, and over half."""

    many: int
    mean_s: float
    half_s: float  # half of them took at most that
    most_s: float  # 99 in 100
    longest_s: float


def summary(histogram: Histogram) -> Summary | None:
    """Sum a histogram up; None if nothing is in it."""
    many = sum(histogram.counts)
    if not many:
        return None
    half, most, longest = (_within(histogram, share * many) for share in (0.5, 0.99, 1.0))
    return Summary(many, histogram.total_s / many, half, most, longest)


def upper_edge_s(place: int) -> float:
    """Give the time below which all of a bin lie."""
    return 2.0**place / 1e6


def filled(histograms: Iterable[Histogram]) -> range:
    """Give the bins from the first to the last that any of them has something in."""
    places = [place for histogram in histograms for place, count in enumerate(histogram.counts) if count]
    return range(min(places), max(places) + 1) if places else range(0)


def bars(histogram: Histogram, places: range) -> Markup:
    """Draw it as SVG, a bar a bin; pictures over the same bins can be compared."""
    width = _WIDTH / max(len(places), 1)
    highest = max(histogram.counts, default=0)
    drawn = [
        _bar((place - places.start) * width, width, count / highest, f"{span(place)}: {count:,}")
        for place, count in enumerate(histogram.counts)
        if count and place in places
    ]
    size = f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}"'
    return Markup(f'<svg class="bars" {size} preserveAspectRatio="none">{Markup("").join(drawn)}</svg>')


def span(place: int) -> str:
    """Say which times a bin holds."""
    if not place:
        return f"below {duration(upper_edge_s(0))}"
    return f"{duration(upper_edge_s(place - 1))} to {duration(upper_edge_s(place))}"


def _bar(left: float, width: float, share: float, title: str) -> Markup:
    height = max(share * _HEIGHT, _LEAST)
    place = f'x="{left + width * 0.06:.1f}" y="{_HEIGHT - height:.1f}" width="{width * 0.88:.1f}" height="{height:.1f}"'
    return Markup(f"<rect {place}><title>{Markup.escape(title)}</title></rect>")


def _within(histogram: Histogram, many: float) -> float:
    """Give the upper edge of the bin in which that many are reached."""
    reached = itertools.accumulate(histogram.counts)
    return upper_edge_s(next(place for place, sofar in enumerate(reached) if sofar >= many))
