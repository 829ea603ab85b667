"""Sizes and times in words: short, and never in two units that say the same."""

from __future__ import annotations

import pytest

from omni_ipc.report.quantities import duration, figure, size, tally


@pytest.mark.parametrize(
    ("count_bytes", "told"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (1_300_000_000, "1.21 GiB"),
        ((1 << 30) - 1, "1 GiB"),
        (1 << 62, "4,096 PiB"),
    ],
)
def test_a_size_has_the_unit_that_makes_it_short(count_bytes: int, told: str) -> None:
    """Three digits, and no "1,024 MiB"."""
    assert size(count_bytes) == told


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0"),
        (999, "999"),
        (388_102, "388 k"),
        (999_700, "1 M"),
        (2_300_000, "2.3 M"),
        (4_100_000_000_000, "4,100 G"),
    ],
)
def test_a_count_is_told_by_its_first_digits(count: int, told: str) -> None:
    """Three of them, and no "1,000 k"."""
    assert tally(count) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 s"),
        (1e-7, "0.1 µs"),
        (4.2e-5, "42 µs"),
        (0.00099996, "1 ms"),
        (0.25, "250 ms"),
        (59.4, "59.4 s"),
        (59.9, "1 min"),
        (125, "2 min 5 s"),
        (3_599.9, "1 h"),
        (3_661, "1 h 1 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_time_has_the_units_that_make_it_short(seconds: float, told: str) -> None:
    """Two of them at most, and no "60 s"."""
    assert duration(seconds) == told


@pytest.mark.parametrize(("value", "told"), [(0, "0"), (0.01234, "0.0123"), (99.96, "100"), (45_000.4, "45,000")])
def test_a_figure_has_three_digits_or_all_before_the_point(value: float, told: str) -> None:
    """Never an exponent where people read it."""
    assert figure(value) == told
