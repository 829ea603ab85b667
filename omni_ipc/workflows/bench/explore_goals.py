"""What the exploration engine is to reach beside its peers, in one run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

from omni_ipc.workflows.bench.goals import Goal
from omni_ipc.workflows.bench.rows import Figure, Results

OURS, DPOR, FASTEST = "omni_ipc, portfolio", "omni_ipc, dpor", "omni_ipc, random"
INSTALLED = {"guarded": "200 steps in cachetools, locked", "racing": "200 steps in cachetools, racing"}
"""Scenarios of a released package, by the names of their functions."""

_PEERS = {"frontrun": ("frontrun, DPOR",), "interleave-test": ("interleave-test, random", "interleave-test, DFS")}


def figures(results: Results, subject: str, metric: str) -> Iterator[tuple[str, Figure]]:
    """Give a metric of a subject for each kernel, or twin."""
    for name, work in results.lines():
        if name == subject and (figure := results.figure(subject, work, 0, metric)):
            yield work, figure


def median(results: Results, subject: str, metric: str) -> float | None:
    """Give the median over kernels."""
    values = [figure.median for _, figure in figures(results, subject, metric)]
    return statistics.median(values) if values else None


def total(results: Results, subject: str, metric: str) -> float:
    """Count over kernels: those of which it was said at least once."""
    return sum(figure.high > 0 for _, figure in figures(results, subject, metric))


def _slowest(results: Results) -> float | None:
    return max((figure.high for _, figure in figures(results, OURS, "first")), default=None)


def _missed(results: Results) -> float | None:
    found = list(figures(results, OURS, "found"))
    return sum(figure.low < 1 for _, figure in found) if found else None


def _wrong(metric: str) -> Callable[[Results], float | None]:
    def measure(results: Results) -> float | None:
        if not any(name == OURS for name, _ in results.lines()):
            return None
        return sum(total(results, subject, metric) for subject in (OURS, DPOR, FASTEST))

    return measure


def _faster_than(peer: str) -> Callable[[Results], float | None]:
    """Compare schedules a second, kernel by kernel."""

    def measure(results: Results) -> float | None:
        ours = dict(figures(results, FASTEST, "speed"))
        theirs: dict[str, float] = {}
        for subject in _PEERS[peer]:
            for work, figure in figures(results, subject, "speed"):
                theirs[work] = max(figure.median, theirs.get(work, 0.0))
        ratios = [ours[work].median / speed for work, speed in theirs.items() if work in ours and speed]
        return statistics.median(ratios) if ratios else None

    return measure


def _schedule(steps: int) -> Callable[[Results], float | None]:
    def measure(results: Results) -> float | None:
        figure = results.figure(FASTEST, f"{steps} steps", 0, "schedule")
        return figure.median if figure else None

    return measure


def _dpor_step(results: Results) -> float | None:
    figure = results.figure(DPOR, "20 steps in conflict", 0, "schedule")
    return figure.median / 20 if figure else None


def _instrumented(results: Results) -> float | None:
    """Return the schedules a second of the slowest scenario of a released package."""
    found = [results.figure(FASTEST, work, 0, "schedule") for work in INSTALLED.values()]
    costs = [figure.median for figure in found if figure]
    return 1e6 / max(costs) if len(costs) == len(found) else None


GOALS = (
    Goal("kernels missed: at most", _missed, 0, at_most=True),
    Goal("first bug on the slowest kernel, ms: at most", _slowest, 1000, at_most=True),
    Goal("false passes: at most", _wrong("false pass"), 0, at_most=True),
    Goal("false alarms: at most", _wrong("false alarm"), 0, at_most=True),
    Goal("schedules/s, of frontrun's DPOR, times: at least", _faster_than("frontrun"), 50, at_most=False),
    Goal("schedules/s, of interleave-test's, times: at least", _faster_than("interleave-test"), 10, at_most=False),
    Goal("a schedule of 20 steps, µs: at most", _schedule(20), 50, at_most=True),
    Goal("a schedule of 100 steps, µs: at most", _schedule(100), 200, at_most=True),
    Goal("a schedule of 500 steps, µs: at most", _schedule(500), 1000, at_most=True),
    Goal("a step of DPOR, µs: at most", _dpor_step, 3, at_most=True),
    Goal("schedules/s of 200 steps in an instrumented package: at least", _instrumented, 1000, at_most=False),
)
