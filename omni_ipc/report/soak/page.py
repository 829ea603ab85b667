"""A soak as one page, also one of several shards; it needs nothing beside itself, and no network.

The page is whole without its script, which adds the values under the pointer, and the switch of its ground.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from omni_ipc.accounts import Account, Finding, Machine, Sample
from omni_ipc.histograms import Histogram
from omni_ipc.records import write_atomically
from omni_ipc.report.quantities import duration, size
from omni_ipc.report.soak.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart, Point, draw
from omni_ipc.report.soak.faults import by_kind, listed
from omni_ipc.report.soak.histogram import TITLES, bars, filled, span, summary
from omni_ipc.report.soak.series import charts, marks
from omni_ipc.report.soak.story import rate, sentences
from omni_ipc.report.soak.text import commands, shard_cells
from omni_ipc.report.templates import template
from omni_ipc.report.text import counted

_MOST_ROWS = 12  # of a table of times; the others are folded away


def page(whole: Account, shards: Mapping[str, Account] = MappingProxyType({})) -> str:
    """Write the page of a soak.

    Args:
        shards: those of several machines or seeds, by their names, which ``whole`` is the account of.
    """
    shards = shards if len(shards) > 1 else {"soak": whole}
    pictures = charts(whole)
    return template("soak.html.j2").render(
        verdict=whole.verdict.value,
        tone={0: "calm", 1: ""}.get(whole.verdict.exit_code, "unsure"),
        facts=list(_facts(shards, whole)),
        story=list(sentences(whole)),
        findings=[_findings(those, whole.defect) for those in _by_trace(whole.findings)],
        charts=[_picture(chart, whole) for chart in pictures],
        plot={"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP, "bottom": BOTTOM},
        lasted_s=whole.seconds,
        data=[[_readings(chart, series.points) for series in chart.series] for chart in pictures],
        times=[
            ("Latencies of results that clients waited for, from submit", "kind", _histograms(whole.latencies)),
            ("Regions", "process and region", _histograms(_longest_first(whole.regions))),
        ],
        time_titles=TITLES,
        most_rows=_MOST_ROWS,
        fault_kinds=list(by_kind(whole.faults)),
        faults=list(listed(whole.faults)),
        fault_count=len(whole.faults),
        balance=list(_balance(shards, whole)),
        shards=[(*shard_cells(*shard), shard[1].verdict.value) for shard in shards.items()] if len(shards) > 1 else [],
        machine=list(_machine(whole.machine)),
    )


def write_page(path: Path, whole: Account, shards: Mapping[str, Account] = MappingProxyType({})) -> Path:
    """Write the page of a soak to a file.

    Raises:
        UsageError: it cannot be written.
    """
    return write_atomically(path, page(whole, shards).encode("utf-8", "replace"))


def _facts(shards: Mapping[str, Account], whole: Account) -> Iterator[str]:
    yield whole.started
    yield duration(whole.seconds)
    if len(shards) > 1:
        yield counted(len(shards), "shard")
    yield counted(whole.workers, "worker")
    yield f"on {whole.machine.device}"
    yield f"seed {whole.seed}" if len(shards) == 1 else f"seeds from {whole.seed}"
    yield rate(whole)
    if whole.defect:
        yield f"with the defect {whole.defect}"


def _by_trace(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """Put those together that one trace shows, in the order of the first of each; what has none stands alone."""
    groups: dict[str | int, list[Finding]] = {}
    for number, finding in enumerate(findings):
        groups.setdefault(number if finding.trace is None else finding.trace, []).append(finding)
    yield from groups.values()


def _findings(those: Sequence[Finding], defect: str | None) -> dict[str, Any]:
    told = [
        {
            "at": duration(finding.at_s),
            "kind": finding.kind,
            "message": finding.message,
            "stood": finding.stood,
        }
        for finding in those
    ]
    recordings = [*dict.fromkeys(finding.recordings for finding in those if finding.recordings)]
    return {"told": told, "commands": commands(those[0], defect), "recordings": recordings}


def _picture(chart: Chart, whole: Account) -> dict[str, Any]:
    last = [
        next((point for point in reversed(series.points) if point.value is not None), None) for series in chart.series
    ]
    return {
        "title": chart.title,
        "svg": draw(chart, marks(whole), whole.seconds),
        "legend": [
            (series.name, _reading(chart, point) if point else "none")
            for series, point in zip(chart.series, last, strict=True)
        ],
    }


def _readings(chart: Chart, points: Sequence[Point]) -> list[tuple[float, str]]:
    return [(round(point.at_s, 3), _reading(chart, point)) for point in points]


def _reading(chart: Chart, point: Point) -> str:
    if point.value is None:
        return "none"
    reach = (chart.said(point.lowest), chart.said(point.highest))
    return chart.said(point.value) if reach[0] == reach[1] else f"{reach[0]} … {reach[1]}"


def _histograms(named: Mapping[str, Histogram]) -> dict[str, Any]:
    """Give rows of a table, and the times that its pictures reach over."""
    places = filled(named.values())
    rows = [
        {
            "name": name,
            "many": f"{figures.many:,}",
            "times": [*map(duration, (figures.mean_s, *figures.within_s))],
            "bars": bars(histogram, places),
        }
        for name, histogram in named.items()
        if (figures := summary(histogram)) is not None
    ]
    return {"rows": rows, "reach": f"{span(places[0])} … {span(places[-1])}" if places else ""}


def _longest_first(regions: Mapping[str, Histogram]) -> dict[str, Histogram]:
    return dict(sorted(regions.items(), key=lambda each: -each[1].total_s))


def _balance(shards: Mapping[str, Account], whole: Account) -> Iterator[tuple[str, ...]]:
    """Say what there was while all processes were up, first, at most and at last, and once all had ended.

    Nothing if nobody ever saw all of them.
    """
    up = [looks for account in shards.values() if (looks := _up(account))]
    if not up:
        return
    left = [account.samples[-1] for account in shards.values() if account.samples]
    for what, said, of in _HELD:
        first, last = sum(of(looks[0]) for looks in up), sum(of(looks[-1]) for looks in up)
        most = max(whole.taken_bytes if what == _TAKEN else 0, *map(of, whole.samples))  # not of all looks are kept
        if most or what != _TAKEN:  # an account of before does not know it
            yield what, *map(said, (first, most, last, sum(map(of, left))))


def _up(account: Account) -> list[Sample]:
    """Give the looks at which an engine had worked, and it and all workers were there."""
    return [at for at in account.samples if at.ended and len(at.resident) > account.workers]


_TAKEN = "memory of the processes, shared memory counted once"
_HELD = (
    ("processes", str, lambda at: len(at.resident)),
    (_TAKEN, size, lambda at: at.taken),
    ("of it shared memory", size, lambda at: at.shared),
    ("slots in use", str, lambda at: at.slots),
    ("open descriptors", str, lambda at: sum(at.descriptors.values())),
    ("open requests", str, lambda at: at.open),
)


def _machine(machine: Machine) -> Iterator[tuple[str, str]]:
    yield "host", machine.host
    yield "system", machine.system
    yield "cores", f"{machine.cores:,}"
    yield "memory", size(machine.memory_bytes)
    yield "device", ", ".join(machine.devices) or machine.device
    if machine.driver:
        yield "driver", machine.driver
    yield from machine.versions.items()
