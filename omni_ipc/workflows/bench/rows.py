"""Results as rows, the same in every bench: medians over repetitions, and beside them how far these lay apart."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping

import msgspec

UNITS = {
    "p50": "µs",
    "p99": "µs",
    "rate": "messages/s",
    "cpu": "cores",
    "overhead": "µs",
    "copies": "copies",
    "requests": "requests/s",
    "found": "of 1",
    "false pass": "of 1",
    "false alarm": "of 1",
    "schedules": "schedules",
    "first": "ms",
    "speed": "schedules/s",
    "schedule": "µs",
}
"""Metric → unit. A metric has two more rows, "p50 low" and "p50 high": the quartiles of its repetitions."""


class Row(msgspec.Struct, frozen=True):
    """One figure."""

    subject: str
    work: str
    size_bytes: int
    metric: str
    value: float
    unit: str


class Figure(msgspec.Struct, frozen=True):
    """A median and its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Figure:
        """Sum up repetitions."""
        low, median, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        return cls(median, low, high)


class Results:
    """What was measured, as long as it grows."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str, int, str], list[float]] = defaultdict(list)

    def add(self, subject: str, work: str, size_bytes: int, values: Mapping[str, float]) -> None:
        """Add one repetition: metric → value."""
        for metric, value in values.items():
            self._values[subject, work, size_bytes, metric].append(value)

    def figure(self, subject: str, work: str, size_bytes: int, metric: str) -> Figure | None:
        """Give a figure; None if it was not measured."""
        values = self._values.get((subject, work, size_bytes, metric))
        return Figure.of(values) if values else None

    def lines(self) -> list[tuple[str, str]]:
        """Name what was measured, in the order of the first repetition: (subject, work)."""
        return list(dict.fromkeys((subject, work) for subject, work, _, _ in self._values))

    def sizes(self) -> list[int]:
        """Give the sizes of messages."""
        return sorted({size_bytes for _, _, size_bytes, _ in self._values if size_bytes})

    def rows(self) -> list[Row]:
        """Give all of it."""
        return [
            Row(*key[:3], f"{key[3]}{suffix}", value, UNITS[key[3]])
            for key, values in self._values.items()
            for figure in (Figure.of(values),)
            for suffix, value in (("", figure.median), (" low", figure.low), (" high", figure.high))
        ]
