"""What a soak came to, in the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from rich.console import RenderableType

from omni_ipc.accounts import Account, Finding
from omni_ipc.histograms import Histogram
from omni_ipc.report.output import table
from omni_ipc.report.plain import cut
from omni_ipc.report.quantities import duration
from omni_ipc.report.soak.histogram import TITLES, summary
from omni_ipc.report.soak.story import rate, sentences
from omni_ipc.report.text import counted
from omni_ipc.report.verdicts import sign, verdict_lines

MOST_FINDINGS = 10
_MOST_CHARACTERS = 400  # of one of them
_MOST_STOOD = 12  # lines of where its processes stood


def parts(account: Account) -> Iterator[RenderableType]:
    """Give all that is printed of an account: verdict, sentences, times, findings."""
    where = f"{counted(account.workers, 'worker')} on {account.machine.device}"
    name = f"soak with {account.defect}" if account.defect else "soak"
    took = f"{where}, {duration(account.seconds)}, {rate(account)}"
    yield verdict_lines(name, account.verdict, took, *sentences(account))
    if account.latencies:
        yield from ("", latency_table(account.latencies))
    shown: set[str | None] = set()
    for finding in account.findings[:MOST_FINDINGS]:
        yield ""
        yield from _finding(finding, account.defect, alike=finding.trace in shown)
        shown.add(finding.trace)
    if len(account.findings) > MOST_FINDINGS:
        yield f"… and {counted(len(account.findings) - MOST_FINDINGS, 'more finding')}; --json and --html tell all"


def latency_table(latencies: Mapping[str, Histogram]) -> RenderableType:
    """Give a line a kind of request, also of those that there was none of."""
    return table(("kind", "count", *TITLES), [_latencies(*each) for each in latencies.items()])


def shard_table(shards: Mapping[str, Account]) -> RenderableType:
    """Give a line a shard."""
    titles = ("", "shard", "host", "seed", "lasted", "requests", "faults", "findings")
    return table(titles, [(sign(account.verdict), *shard_cells(name, account)) for name, account in shards.items()])


def shard_cells(name: str, account: Account) -> tuple[str, ...]:
    """Say what a shard came to, in the cells of a table."""
    counts = (account.requests, len(account.faults), len(account.findings))
    own = (name, account.machine.host, str(account.seed), duration(account.seconds))
    return (*own, *(f"{count:,}" for count in counts))


def commands(finding: Finding, defect: str | None) -> tuple[str, ...]:
    """Give what shows a finding, in a shell; nothing if it has no trace."""
    if finding.trace is None:
        return ()
    put_back = ["--defect", defect] if defect else []
    replay, show = ["omni-ipc", "replay", finding.trace, *put_back], ["omni-ipc", "show", finding.trace]
    return shlex.join(replay), shlex.join(show)


def _latencies(kind: str, histogram: Histogram) -> tuple[str, ...]:
    if (figures := summary(histogram)) is None:
        return kind, "0", *("" for _ in TITLES)
    return kind, f"{figures.many:,}", *map(duration, figures.within_s)


def _finding(finding: Finding, defect: str | None, *, alike: bool) -> Iterator[RenderableType]:
    yield f"{finding.kind}, after {duration(finding.at_s)}: {cut(finding.message, _MOST_CHARACTERS)}"
    yield from (f"  {cut(line, _MOST_CHARACTERS)}" for line in finding.stood[:_MOST_STOOD])
    if finding.trace is not None and alike:
        yield f"  shown by the same trace: {finding.trace}"
    else:
        yield from (f"  {command}" for command in commands(finding, defect))
    if finding.recordings:
        yield f"  recorded in {finding.recordings}"
