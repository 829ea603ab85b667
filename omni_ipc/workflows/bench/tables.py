"""A comparison for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from omni_ipc.report.output import table
from omni_ipc.report.verdicts import passed
from omni_ipc.workflows.bench.goals import Verdict
from omni_ipc.workflows.bench.rows import Figure, Results
from omni_ipc.workflows.bench.transport import Comparison

_UNITS = ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


def parts(comparison: Comparison) -> Iterator[RenderableType]:
    """Lay out latencies, rates, idle readers, the seam, goals, and what is missing."""
    results = comparison.results
    sizes = results.sizes()
    yield "one-way, µs: median of the repetitions' medians, its quartiles, and the median 99th percentile"
    yield table(("", *(size_name(size) for size in sizes)), list(_latencies(results, sizes)))
    for title, metric, size, scale, form in _SINGLE:
        yield ""
        yield table(("", title, "quartiles"), list(_single(results, metric, size, scale, form)))
    yield from endings(comparison.verdicts, comparison.left_out)


def endings(verdicts: Sequence[Verdict], left_out: Mapping[str, str]) -> Iterator[RenderableType]:
    """Lay out goals, and what is missing."""
    yield ""
    yield table(("", "goal", "found", "bar"), list(_goals(verdicts)))
    if left_out:
        yield ""
        yield table(("left out", "why"), sorted(left_out.items()))


def size_name(size_bytes: int) -> str:
    """Name a size: "64 KiB"."""
    unit, name = next((unit, name) for unit, name in _UNITS if size_bytes >= unit)
    return f"{size_bytes // unit} {name}"


_SINGLE = (  # title, metric, size, scale, format
    ("messages/s of 64 B", "rate", 64, 1, ",.0f"),
    ("idle reader, cores", "cpu", 64, 1, ".3%"),
    ("ns", "p50", 0, 1e3, ",.0f"),
)


def _latencies(results: Results, sizes: list[int]) -> Iterator[tuple[Text, ...]]:
    for subject, work in results.lines():
        figures = [[results.figure(subject, work, size, metric) for metric in ("p50", "p99")] for size in sizes]
        if any(p50 for p50, _ in figures):
            yield Text(f"{subject}, {work}"), *(_cell(p50, p99) if p50 and p99 else Text() for p50, p99 in figures)


def _cell(p50: Figure, p99: Figure) -> Text:
    spread = f"\n{rounded(p50.low)} to {rounded(p50.high)}"
    return Text.assemble((rounded(p50.median), "bold"), spread, (f"\n{rounded(p99.median)}", "dim"))


def _single(results: Results, metric: str, size: int, scale: float, form: str) -> Iterator[tuple[str, str, str]]:
    for subject, work in results.lines():
        if figure := results.figure(subject, work, size, metric):
            median, low, high = (format(value * scale, form) for value in (figure.median, figure.low, figure.high))
            yield f"{subject}, {work}", median, f"{low} to {high}"


def _goals(verdicts: Sequence[Verdict]) -> Iterator[tuple[Text, str, str, str]]:
    for verdict in verdicts:
        found = "not measured" if verdict.found is None else rounded(verdict.found)
        yield passed(verdict.reached), verdict.goal, found, f"{verdict.bar:,g}"


def rounded(value: float) -> str:
    """Give the digits that matter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
