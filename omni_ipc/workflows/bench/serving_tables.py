"""A comparison of servers for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from omni_ipc.report.output import table
from omni_ipc.workflows.bench.rows import Figure, Results
from omni_ipc.workflows.bench.serving import ServingComparison
from omni_ipc.workflows.bench.serving_goals import NOTHING_BYTES
from omni_ipc.workflows.bench.tables import endings, rounded


def parts(comparison: ServingComparison) -> Iterator[RenderableType]:
    """Lay out overheads, copies, rates, goals, and what is missing."""
    results = comparison.results
    sizes = [size for size in results.sizes() if size != NOTHING_BYTES]
    yield "a request beyond its forward, µs: median of the repetitions' medians, and its quartiles"
    head = ("", *(f"outputs of {size / (1 << 20):g} MiB" for size in sizes))
    yield table(head, list(_lines(results, "overhead", sizes)))
    yield ""
    yield table(("copies of an output", *head[1:]), list(_lines(results, "copies", sizes)))
    yield ""
    yield table(("", "requests/s of a null pipeline"), list(_lines(results, "requests", [NOTHING_BYTES])))
    yield from endings(comparison.verdicts, comparison.left_out)


def _lines(results: Results, metric: str, sizes: list[int]) -> Iterator[tuple[Text, ...]]:
    for server, work in results.lines():
        figures = [results.figure(server, work, size, metric) for size in sizes]
        if any(figures):
            yield Text(f"{server}, {work}"), *(_cell(figure) if figure else Text() for figure in figures)


def _cell(figure: Figure) -> Text:
    return Text.assemble((rounded(figure.median), "bold"), f"\n{rounded(figure.low)} to {rounded(figure.high)}")
