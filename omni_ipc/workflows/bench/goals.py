"""What is to be reached, as ratios within one run, and whether it was; and the goals of the transport."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from omni_ipc.workflows.bench.rows import Results

SPINNING, PARKED = "omni_ipc, spinning", "omni_ipc, parked"
PIPE, FRESH, MEMCPY, SEAM = "multiprocessing.Pipe", "fresh SharedMemory", "limit: memcpy", "seam"

_MIB = 1 << 20


class Verdict(msgspec.Struct, frozen=True):
    """One goal, and what came of it."""

    goal: str
    found: float | None  # None: not measured
    bar: float
    reached: bool


class Goal(NamedTuple):
    """A figure, and what it is to be."""

    sentence: str
    measure: Callable[[Results], float | None]
    bar: float
    at_most: bool  # else at least


def judge(goals: Sequence[Goal], results: Results) -> list[Verdict]:
    """Hold the results against every goal."""
    return [_judge(goal, results) for goal in goals]


def _judge(goal: Goal, results: Results) -> Verdict:
    found = goal.measure(results)
    reached = found is not None and (found <= goal.bar if goal.at_most else found >= goal.bar)
    return Verdict(goal.sentence, found, goal.bar, reached)


def _ratio(over: tuple[str, str, int], under: tuple[str, str, int]) -> Callable[[Results], float | None]:
    def measure(results: Results) -> float | None:
        one, other = results.figure(*over, "p50"), results.figure(*under, "p50")
        return one.median / other.median if one and other else None

    return measure


def _value(
    subject: str, work: str, size_bytes: int, metric: str, scale: float = 1.0
) -> Callable[[Results], float | None]:
    def measure(results: Results) -> float | None:
        figure = results.figure(subject, work, size_bytes, metric)
        return figure.median * scale if figure else None

    return measure


def _slowest_loan(results: Results) -> float | None:
    figures = [results.figure(SPINNING, "loan", size, "p50") for size in results.sizes()]
    return max((figure.median for figure in figures if figure), default=None)


GOALS = (
    Goal(
        "64 B, of multiprocessing.Pipe's time, the reader spinning: at most",
        _ratio((SPINNING, "copy", 64), (PIPE, "copy", 64)),
        0.5,
        at_most=True,
    ),
    Goal(
        "a view of 1 MiB, faster than a fresh segment by: at least",
        _ratio((FRESH, "view", _MIB), (SPINNING, "view", _MIB)),
        20,
        at_most=False,
    ),
    Goal(
        "a view of 8 MiB, faster than a fresh segment by: at least",
        _ratio((FRESH, "view", 8 * _MIB), (SPINNING, "view", 8 * _MIB)),
        15,
        at_most=False,
    ),
    Goal(
        "a view of 32 MiB, of one memcpy's time: at most",
        _ratio((SPINNING, "view", 32 * _MIB), (MEMCPY, "copy", 32 * _MIB)),
        1.3,
        at_most=True,
    ),
    Goal("loan and commit, at the slowest size, µs: at most", _slowest_loan, 5, at_most=True),
    Goal("messages/s of 64 B, in batches: at least", _value(SPINNING, "batch", 64, "rate"), 600_000, at_most=False),
    Goal("an idle parked reader, % of a core: at most", _value(PARKED, "copy", 64, "cpu", 100), 1, at_most=True),
    Goal("a region with its lock, ns: at most", _value(SEAM, "region", 0, "p50", 1000), 300, at_most=True),
)
