"""Sizes, times and counts in the words that people compare them in."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_COUNTS = ("", " k", " M", " G")
_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_FRACTIONS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def size(count_bytes: float) -> str:
    """Write "512 B", "1.3 GiB"."""
    value, unit = _scaled(count_bytes, 1024, _SIZES)
    return f"{figure(value)} {unit}"


def tally(count: int) -> str:
    """Write "512", "388 k", "2.3 M"."""
    value, unit = _scaled(count, 1000, _COUNTS)
    return f"{figure(value)}{unit}"


def duration(seconds: float) -> str:
    """Write "40 µs", "1.3 s", "2 min 5 s", "3 d 4 h"."""
    for (unit_s, name), (part_s, part) in itertools.pairwise(_SPANS):
        if round(seconds / part_s) * part_s >= unit_s:
            whole, rest = divmod(round(seconds / part_s), unit_s // part_s)
            return f"{whole} {name} {rest} {part}" if rest else f"{whole} {name}"
    for fraction_s, name in _FRACTIONS:
        if seconds >= fraction_s * 0.9995:
            return f"{figure(seconds / fraction_s)} {name}"
    return f"{figure(seconds * 1e6)} µs" if seconds else "0 s"


def figure(value: float) -> str:
    """Write a number by its first three digits, or by all that stand before the point: "0.012", "1.3", "45,000"."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def _scaled(value: float, step: int, units: Sequence[str]) -> tuple[float, str]:
    """Give a value in the first unit in which it is, rounded, less than the next."""
    unit = 0
    while value >= step - 0.5 and unit < len(units) - 1:
        value /= step
        unit += 1
    return value, units[unit]
