"""What a soak came to, in the terminal."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Mapping

from rich.console import RenderableType

from omni_ipc.accounts import Account, Finding
from omni_ipc.report.output import table
from omni_ipc.report.plain import cut
from omni_ipc.report.quantities import duration
from omni_ipc.report.soak.histogram import summary
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
        yield from ("", latency_table(account))
    for finding in account.findings[:MOST_FINDINGS]:
        yield ""
        yield from _finding(finding, account.defect)
    if len(account.findings) > MOST_FINDINGS:
        yield f"… and {counted(len(account.findings) - MOST_FINDINGS, 'more finding')}; --json and --html tell all"


def latency_table(account: Account, *, most: int | None = None) -> RenderableType:
    """Give a line a kind of request: what took longest in all first, and of these at most that many."""
    titles = ("kind", "count", "half within", "99 % within", "all within")
    return table(titles, list(itertools.islice(_latencies(account), most)))


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


def _latencies(account: Account) -> Iterator[tuple[str, ...]]:
    for kind, histogram in sorted(account.latencies.items(), key=lambda named: -named[1].total_s):
        if (figures := summary(histogram)) is not None:
            times = (figures.half_s, figures.most_s, figures.longest_s)
            yield kind, f"{figures.many:,}", *map(duration, times)


def _finding(finding: Finding, defect: str | None) -> Iterator[RenderableType]:
    yield f"{finding.kind}, after {duration(finding.at_s)}: {cut(finding.message, _MOST_CHARACTERS)}"
    yield from (f"  {cut(line, _MOST_CHARACTERS)}" for line in finding.stood[:_MOST_STOOD])
    yield from (f"  {command}" for command in commands(finding, defect))
    if finding.recordings:
        yield f"  recorded in {finding.recordings}"
