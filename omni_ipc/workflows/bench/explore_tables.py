"""A comparison of explorers for people."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from omni_ipc.report.output import table
from omni_ipc.workflows.bench.explore import Comparison
from omni_ipc.workflows.bench.explore_goals import figures, median, total
from omni_ipc.workflows.bench.rows import Results
from omni_ipc.workflows.bench.tables import endings, rounded

_TITLES = (
    "",
    "kernels",
    "found",
    "false passes",
    "false alarms",
    "schedules to the bug",
    "ms to the bug",
    "schedules/s",
)


def parts(comparison: Comparison) -> Iterator[RenderableType]:
    """Lay out who found what, how fast, and where each was wrong; goals, and what is missing."""
    results = comparison.results
    yield "schedules and ms to the bug: geometric mean over the kernels where it was found, and the worst; rate: median"
    yield table(_TITLES, [_line(results, name) for name in dict.fromkeys(name for name, _ in results.lines())])
    for title, wrong in (("passed falsely", comparison.false_passes), ("accused falsely", comparison.false_alarms)):
        if wrong:
            yield ""
            yield table((title, "kernels"), [(name, ", ".join(dict.fromkeys(of))) for name, of in wrong.items()])
    yield from endings(comparison.verdicts, comparison.left_out)


def _line(results: Results, subject: str) -> tuple[RenderableType, ...]:
    found = dict(figures(results, subject, "found"))
    hits = sum(figure.median > 0 for figure in found.values())
    speed = median(results, subject, "speed")
    return (
        subject,
        str(len(found)),
        Text(str(hits), "bold" if hits == len(found) else ""),
        f"{total(results, subject, 'false pass'):.0f}",
        f"{total(results, subject, 'false alarm'):.0f}",
        _mean_and_worst(results, subject, "schedules"),
        _mean_and_worst(results, subject, "first"),
        rounded(speed) if speed else "",
    )


def _mean_and_worst(results: Results, subject: str, metric: str) -> str:
    values = [figure.median for _, figure in figures(results, subject, metric)]
    if not values:
        return ""
    mean = statistics.geometric_mean(max(value, 1e-3) for value in values)
    return f"{rounded(mean)}, {rounded(max(values))}"
