"""Times in bins, as a few figures, and as a picture small enough for a cell of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from markupsafe import Markup

from omni_ipc.histograms import Histogram, upper_edge_us, within_us
from omni_ipc.report.quantities import duration

TITLES = ("p50", "p95", "p99", "all within")
"""Of the columns of a table that tell how long things took."""

_SHARES = (0.5, 0.95, 0.99, 1.0)
_WIDTH, _HEIGHT = 220.0, 26.0
_LEAST = 1.5  # high, so that a bar with a single one among millions is seen


class Summary(NamedTuple):
    """A histogram in figures: the mean is exact; half of them, 95 and 99 in 100, and all took at most the others."""

    many: int
    mean_s: float
    within_s: tuple[float, ...]  # a column of TITLES each; at most a sixteenth too high


def summary(histogram: Histogram) -> Summary | None:
    """Sum a histogram up; None if nothing is in it."""
    if not (many := histogram.many):
        return None
    within = tuple(within_us(histogram, share) / 1e6 for share in _SHARES)
    return Summary(many, histogram.total_s / many, within)


def octaves(histogram: Histogram) -> Counter[int]:
    """Give how many took less than 2**n microseconds, but no less than half of that: a bar each."""
    counts: Counter[int] = Counter()
    for place, count in histogram.counts.items():
        counts[(upper_edge_us(place) - 1).bit_length()] += count
    return counts


def filled(histograms: Iterable[Histogram]) -> range:
    """Give the bars from the first to the last that any of them needs."""
    places = [place for histogram in histograms for place, count in octaves(histogram).items() if count]
    return range(min(places), max(places) + 1) if places else range(0)


def bars(histogram: Histogram, places: range) -> Markup:
    """Draw it as SVG, a bar a power of two; pictures over the same bars can be compared."""
    width = _WIDTH / max(len(places), 1)
    counts = octaves(histogram)
    highest = max(counts.values(), default=0)
    drawn = [
        _bar((place - places.start) * width, width, count / highest, f"{span(place)}: {count:,}")
        for place, count in sorted(counts.items())
        if count and place in places
    ]
    size = f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}"'
    return Markup(f'<svg class="bars" {size} preserveAspectRatio="none">{Markup("").join(drawn)}</svg>')


def span(place: int) -> str:
    """Say which times a bar holds."""
    if not place:
        return f"below {duration(1e-6)}"
    return f"{duration(2.0 ** (place - 1) / 1e6)} to {duration(2.0**place / 1e6)}"


def _bar(left: float, width: float, share: float, title: str) -> Markup:
    height = max(share * _HEIGHT, _LEAST)
    place = f'x="{left + width * 0.06:.1f}" y="{_HEIGHT - height:.1f}" width="{width * 0.88:.1f}" height="{height:.1f}"'
    return Markup(f"<rect {place}><title>{Markup.escape(title)}</title></rect>")
