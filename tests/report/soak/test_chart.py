"""Pictures over time: round scales, gaps where there was nothing, and marks that can be told apart."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_ipc.report.quantities import figure
from omni_ipc.report.soak.chart import HEIGHT, WIDTH, Chart, Mark, Point, Series, draw, scale

HOSTILE = "</title><script>alert(1)</script>"


def level(at_s: float, value: float | None) -> Point:
    return Point(at_s, value, value or 0.0, value or 0.0)


def drawn(*points: Point, marks: tuple[Mark, ...] = (), lasted_s: float = 100.0) -> str:
    text = str(draw(Chart(HOSTILE, (Series("one", points),), figure), marks, lasted_s))
    ET.fromstring(text)
    return text


@given(st.floats(1e-6, 1e15), st.sampled_from([2, 10]))
def test_a_scale_reaches_the_highest_value_in_four_or_five_round_steps(highest: float, grain: int) -> None:
    """So that a picture is used to at least a half, and its lines can be read."""
    ticks = scale(highest, grain)
    assert ticks[0] == 0
    assert 3 <= len(ticks) <= 6
    assert highest * (1 - 1e-6) <= ticks[-1] <= 2 * highest
    mantissa = f"{ticks[1]:.6e}".partition("e")[0]
    assert float(mantissa) in (1, 2, 2.5, 5) if grain == 10 else ticks[1].hex().startswith("0x1.0000000000000p")


def test_what_was_not_there_is_a_gap() -> None:
    """A dead process has no memory, which is not the same as none; one look alone is seen, too."""
    text = drawn(level(0, 1), level(10, 1), level(20, None), level(30, 2), level(40, None))
    lines = re.findall(r'<path class="series s0" d="([^"]+)"/>', text)
    assert len(lines) == 2
    assert lines[1].endswith("h1")


def test_what_varied_within_a_point_is_shown() -> None:
    """From the lowest to the highest of what was seen around that moment; and only where it did."""
    assert "band" not in drawn(level(0, 1), level(50, 2))
    assert drawn(Point(0, 2, 1, 3), Point(50, 2, 2, 2)).count('class="band s0"') == 1


def test_everything_lies_within_the_picture() -> None:
    """The highest value at the latest moment, and a mark there."""
    text = drawn(level(0, 0), level(100, 7e9), marks=(Mark(100.0, "K", "kill"),))
    for x in re.findall(r'x[12]?="([-\d.]+)"', text):
        assert 0 <= float(x) <= WIDTH
    for y in re.findall(r'y[12]?="([-\d.]+)"', text):
        assert 0 <= float(y) <= HEIGHT


@pytest.mark.parametrize(("many", "letters"), [(3, 3), (300, 0)])
def test_marks_have_letters_as_long_as_these_can_be_told_apart(many: int, letters: int) -> None:
    """All of them have a line and a title."""
    marks = tuple(Mark(number * 3.3, "K", f"kill {number}") for number in range(many))
    text = drawn(level(0, 1), marks=marks, lasted_s=many * 3.3)
    assert text.count('<g class="mark">') == many
    assert len(re.findall(">K</text>", text)) == letters


def test_letters_of_close_marks_stand_side_by_side() -> None:
    """And not on each other; of many, the first ones. Each still has its line."""
    close = (Mark(50.0, "S", "stop"), Mark(50.5, "K", "kill"), Mark(60.0, "M", "memory"))
    text = drawn(level(0, 1), marks=close)
    assert re.findall(r'y="13.0">([^<]+)</text>', text) == ["SK", "M"]
    assert text.count('<g class="mark">') == 3
    many = drawn(level(0, 1), marks=tuple(Mark(50.0 + number / 2, "S", "stop") for number in range(9)))
    assert re.findall(r'y="13.0">([^<]+)</text>', many) == ["SSS…"]


def test_marks_at_one_place_are_one_mark() -> None:
    """Its title has the first ones, and says how many more there are: a soak of days has thousands."""
    marks = tuple(Mark(50.0, "K", f"kill {number}") for number in range(9_000))
    text = drawn(level(0, 1), marks=marks)
    assert text.count('<g class="mark">') == 1
    assert "kill 4\n8995 more" in text


@pytest.mark.parametrize("lasted_s", [0.0, 0.3, 7.0, 86_400.0, 86_400.0 * 40])
def test_times_are_told_however_long_it_took(lasted_s: float) -> None:
    """A handful of them, from less than a second to weeks."""
    assert drawn(level(0, 1), lasted_s=lasted_s).count('class="time"') <= 5


def test_what_others_wrote_is_shown_and_not_run() -> None:
    """A name or a title may hold anything."""
    text = drawn(level(0, 1), marks=(Mark(1.0, "<", HOSTILE),))
    assert "<script" not in text
