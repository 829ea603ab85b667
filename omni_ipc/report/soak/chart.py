"""Something over the time of a soak, as a picture: a line a series, a mark a fault.

Plain SVG, with its colours left to the page: it has a light and a dark ground.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from omni_ipc.report.quantities import duration

WIDTH, HEIGHT = 640.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 8.0, 18.0, 22.0  # around the plot
_MOST_LETTERS = 40  # of marks: more of them would be one word
_LETTER = 14.0  # what one takes, with the space beside it
_MOST_TOGETHER = 3  # letters of marks that lie close
_MOST_TITLES = 5
_MOST_TIMES = 5
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TIMES_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)


class Point(NamedTuple):
    """What a series was around a moment; of no value where there was none, as of a process that was dead."""

    at_s: float
    value: float | None
    lowest: float = 0.0
    highest: float = 0.0


class Series(NamedTuple):
    """One line."""

    name: str
    points: Sequence[Point]


class Mark(NamedTuple):
    """Something that happened at a moment."""

    at_s: float
    letter: str
    title: str


class Chart(NamedTuple):
    """All of one picture.

    Args:
        said: writes a value with its unit.
        grain: the power of the scale's steps: 2 for bytes, else 10.
    """

    title: str
    series: Sequence[Series]
    said: Callable[[float], str]
    grain: int = 10


def draw(chart: Chart, marks: Sequence[Mark], lasted_s: float) -> Markup:
    """Draw it as SVG, from 0 to its highest value, and from the start of the soak to its end."""
    highest = max((point.highest for series in chart.series for point in series.points), default=0.0)
    ticks = scale(highest, chart.grain)
    plot = _Plot(max(lasted_s, 1e-9), ticks[-1])
    parts = [
        *_grid(plot, ticks, chart.said),
        *_times(plot),
        *_marked(plot, marks),
        *(part for number, series in enumerate(chart.series) for part in _line(plot, number, series)),
        Markup('<line class="cursor" visibility="hidden" y1="{}" y2="{}"/>').format(_f(TOP), _f(HEIGHT - BOTTOM)),
    ]
    label = Markup.escape(chart.title)
    head = f'<svg class="chart" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="'
    return Markup(head) + label + Markup('">') + Markup("").join(parts) + Markup("</svg>")


def scale(highest: float, grain: int) -> list[float]:
    """Give round values from 0 to the first one that is no less than the highest, four or five of them."""
    if highest <= 0:
        return [0.0, 1.0]
    if grain == 2:
        step = 2.0 ** math.ceil(math.log2(highest / 4))
    else:
        power = 10.0 ** math.floor(math.log10(highest / 4))
        step = next(power * by for by in _STEPS if power * by * 4 >= highest * (1 - 1e-9))
    return [step * number for number in range(math.ceil(highest / step - 1e-9) + 1)]


class _Plot(NamedTuple):
    """Where values lie on the picture."""

    lasted_s: float
    top: float

    def x(self, at_s: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * at_s / self.lasted_s

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.top


def _grid(plot: _Plot, ticks: Sequence[float], said: Callable[[float], str]) -> Iterator[Markup]:
    for tick in ticks:
        y = _f(plot.y(tick))
        yield Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(_f(LEFT), _f(WIDTH - RIGHT), y, y)
        yield Markup('<text class="value" x="{}" y="{}">{}</text>').format(_f(LEFT - 6), y, said(tick))


def _times(plot: _Plot) -> Iterator[Markup]:
    days = (_TIMES_S[-1] << doubled for doubled in itertools.count(1))
    step = next(step for step in itertools.chain(_TIMES_S, days) if plot.lasted_s / step <= _MOST_TIMES)
    for number in range(1, int(plot.lasted_s / step) + 1):
        at_s = number * step
        anchor = "end" if plot.x(at_s) > WIDTH - 24 else "middle"
        place = (_f(min(plot.x(at_s), WIDTH - 2)), _f(HEIGHT - 6))
        yield Markup('<text class="time" x="{}" y="{}" text-anchor="{}">{}</text>').format(
            *place, anchor, duration(at_s)
        )


def _marked(plot: _Plot, marks: Sequence[Mark]) -> Iterator[Markup]:
    """Draw marks as far as they lie apart; letters that would lie on each other stand side by side."""
    at_same: dict[int, list[Mark]] = {}
    for mark in marks:
        at_same.setdefault(round(plot.x(mark.at_s)), []).append(mark)
    few = len(at_same) <= _MOST_LETTERS
    letters = dict(_lettered({x: there[0].letter for x, there in at_same.items()})) if few else {}
    for x, there in at_same.items():
        line = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}"/>').format(x, x, _f(TOP), _f(HEIGHT - BOTTOM))
        shown = letters.get(x, Markup(""))
        titles = [mark.title for mark in there[:_MOST_TITLES]]
        more = [f"{len(there) - _MOST_TITLES} more"] if len(there) > _MOST_TITLES else []
        yield (
            Markup('<g class="mark"><title>{}</title>').format("\n".join(titles + more)) + line + shown + Markup("</g>")
        )


def _lettered(at: Mapping[int, str]) -> Iterator[tuple[int, Markup]]:
    """Give the letters of marks by their places; those of close marks with the first of them."""
    close: list[list[int]] = []
    for x in sorted(at):
        if close and x - close[-1][-1] < _LETTER:
            close[-1].append(x)
        else:
            close.append([x])
    for places in close:
        word = "".join(at[x] for x in places[:_MOST_TOGETHER]) + "…" * (len(places) > _MOST_TOGETHER)
        middle = (places[0] + places[min(len(places), _MOST_TOGETHER) - 1]) / 2
        yield places[0], Markup('<text x="{}" y="{}">{}</text>').format(_f(middle), _f(TOP - 5), word)


def _line(plot: _Plot, number: int, series: Series) -> Iterator[Markup]:
    """Draw a series, piece by piece: its values, and faintly from its lowest to its highest ones."""
    for has_value, group in itertools.groupby(series.points, key=lambda point: point.value is not None):
        if not has_value:
            continue
        piece = list(group)
        line = " ".join(f"{_f(plot.x(at_s))} {_f(plot.y(value or 0.0))}" for at_s, value, _, _ in piece)
        if any(point.lowest < point.highest for point in piece):
            upper = [f"{_f(plot.x(point.at_s))} {_f(plot.y(point.highest))}" for point in piece]
            lower = [f"{_f(plot.x(point.at_s))} {_f(plot.y(point.lowest))}" for point in reversed(piece)]
            yield Markup('<path class="band s{}" d="M{}Z"/>').format(number, " ".join(upper + lower))
        alone = "h1" if len(piece) == 1 else ""  # a point is seen, too
        yield Markup('<path class="series s{}" d="M{}{}"/>').format(number, line, alone)


def _f(value: float) -> str:
    return f"{value:.1f}"
