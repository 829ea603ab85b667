"""A soak while it runs: a view that is drawn anew in a terminal, and lines now and then elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from omni_ipc.accounts import KINDS, Account, Finding
from omni_ipc.histograms import Histogram
from omni_ipc.report.plain import Neutral, cut
from omni_ipc.report.quantities import duration, figure, size
from omni_ipc.report.soak.faults import told
from omni_ipc.report.soak.series import grouped
from omni_ipc.report.soak.story import outcomes, validation
from omni_ipc.report.soak.text import latency_table
from omni_ipc.report.text import counted

Watch = Callable[[Account], None]
"""Takes the account so far, about once a second."""

_RECENT_S = 10.0  # over which the rate of now is counted
_OFTEN_S, _SELDOM_S, _EARLY_S = 10.0, 60.0, 120.0  # between lines: at first, and later
_LAST = 3  # findings that are shown
_MOST_CHARACTERS = 200


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    """Show accounts on standard error as they come; what is drawn vanishes at the end, lines stay."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _Lines(console).tell
        return
    with Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
        yield lambda account: live.update(Neutral(view(account)), refresh=True)


def view(account: Account) -> RenderableType:
    """Draw an account as it is now."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    for name, value in _facts(account):
        facts.add_row(name, Text(value))
    latencies = {kind: Histogram() for kind in KINDS} | account.latencies  # a line each from the start: nothing jumps
    return Group(_head(account), "", facts, "", latency_table(latencies), *_found(account))


def line(account: Account) -> str:
    """Write an account as it is now in one line."""
    parts = [counted(account.requests, "request"), f"{figure(recent_rate(account))}/s"]
    if account.samples:
        last = account.samples[-1]
        parts += [f"{last.open:,} open", size(last.taken or sum(last.resident.values()))]
    parts += [counted(len(account.faults), "fault"), counted(len(account.findings), "finding")]
    return f"{_clock(account)}: {', '.join([*parts, *filter(None, [account.doing])])}"


def recent_rate(account: Account) -> float:
    """Give how many requests ended in a second, over the last ten."""
    samples = account.samples
    if len(samples) < 2:
        return 0.0
    last = samples[-1]
    since = next(sample for sample in samples if sample.at_s >= last.at_s - _RECENT_S or sample is samples[-2])
    return (last.ended - since.ended) / ((last.at_s - since.at_s) or 1.0)


class _Lines:
    """Tells findings at once, and how it goes now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next_s = 0.0
        self._doing = ""
        self._told: set[str] = set()  # findings: they come in the order of their times, not in that of their coming

    def tell(self, account: Account) -> None:
        for sentence in map(_sentence, account.findings):
            if sentence not in self._told:
                self._told.add(sentence)
                self._print(sentence)
        if account.seconds >= self._next_s or account.doing not in ("", self._doing):
            self._doing = account.doing
            self._print(line(account))
            self._next_s = account.seconds + (_OFTEN_S if account.seconds < _EARLY_S else _SELDOM_S)

    def _print(self, words: str) -> None:
        self._console.print(Neutral(Text(words)), soft_wrap=True)


def _head(account: Account) -> RenderableType:
    head = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=account.asked_s or 1.0, completed=min(account.seconds, account.asked_s), width=24)
    where = f"{counted(account.workers, 'worker')} on {account.machine.device}, seed {account.seed}"
    head.add_row(Text("soak", "bold"), bar, _clock(account), Text(where, "dim"))
    return head


def _facts(account: Account) -> Iterator[tuple[str, str]]:
    yield "requests", f"{account.requests:,}, {figure(recent_rate(account))}/s"
    yield "outcomes", outcomes(account) or "none yet"
    yield "checked", size(account.checked_bytes)
    if account.samples:
        last = account.samples[-1]
        groups = grouped(last.resident).items()
        memory = ", ".join(f"{name} {size(sum(map(last.resident.__getitem__, those)))}" for name, those in groups)
        yield "memory", f"{memory or 'no process'}; {size(last.shared)} shared"
        descriptors = counted(sum(last.descriptors.values()), "descriptor")
        yield "in use", f"{counted(last.open, 'request')}, {counted(last.slots, 'slot')}, {descriptors}"
    else:
        yield from (("memory", "not looked at yet"), ("in use", "not looked at yet"))
    last_one = f"; the last one after {told(account.faults[-1])}" if account.faults else ""
    yield "faults", f"{len(account.faults):,}{last_one}"


def _found(account: Account) -> Iterator[RenderableType]:
    """Tell what comes one by one; below all else, as each takes a line more."""
    if account.validations:
        yield ""
    yield from (Text(validation(each), "dim") for each in account.validations)
    if account.findings:
        yield ""
        yield Text(counted(len(account.findings), "finding"), "bold red")
    for finding in account.findings[-_LAST:]:
        yield Text(_sentence(finding), "red")


def _sentence(finding: Finding) -> str:
    return f"{finding.kind}, after {duration(finding.at_s)}: {cut(finding.message, _MOST_CHARACTERS)}"


def _clock(account: Account) -> str:
    return f"{duration(round(account.seconds))} of {duration(round(account.asked_s))}"
