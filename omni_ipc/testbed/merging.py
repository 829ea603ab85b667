"""What the jobs of an exploration say, and how their reports become one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from omni_ipc.records import Report, Verdict
from omni_ipc.testbed.strategies import STRATEGIES
from omni_ipc.testbed.strategies.depth_first import orders
from omni_ipc.testbed.strategies.portfolio import Portfolio


class Share(msgspec.Struct, frozen=True):
    """How much of a search that is shared out one job has run.

    Args:
        claim: what its report claims, in the words of its strategy.
        whole: runs that it alone counts as whole.
        points: accesses that it knows to be points: shares fit together if all know the same.
    """

    claim: str
    whole: int
    points: tuple[str, ...]


class News(msgspec.Struct, frozen=True):
    """What a job says: how far it is, or how it has ended."""

    schedules: int = 0
    steps: int = 0
    left: float | None = None
    report: Report | None = None
    signatures: tuple[int, ...] = ()
    share: Share | None = None
    usage: str | None = None  # a UsageError

    @property
    def decides(self) -> bool:
        """Whether what it has found is the answer of all."""
        if self.report is None or self.report.verdict is Verdict.BOUNDED:
            return False
        return self.report.verdict is not Verdict.HOLDS or self.share is None


def merged(said: Sequence[News], strategy: str) -> Report:
    """Put the reports of the jobs together; not all need to have one."""
    told = [news for news in said if news.report is not None]
    reports = [news.report for news in told if news.report is not None]
    decided = [news.report for news in told if news.decides and news.report is not None]
    bounded = [report for report in reports if report.verdict is Verdict.BOUNDED]
    deciding, *_ = decided or bounded or reports
    schedules = sum(news.schedules for news in said)
    reason, traces = deciding.reason, deciding.traces
    shares = [news.share for news in told if news.share is not None]
    if deciding.verdict is Verdict.BOUNDED:
        reason = "; ".join(dict.fromkeys(report.reason for report in reports))
        signatures = {signature for news in said for signature in news.signatures}
        traces = sum(share.whole for share in shares) if shares else len(signatures) or deciding.traces
    elif not decided:
        traces = sum(share.whole for share in shares)
        reason = reason.replace(shares[0].claim, orders(schedules, traces), 1)
    return msgspec.structs.replace(
        deciding,
        reason=f"{reason} (in {_split(strategy, len(said))})",
        schedules=schedules,
        steps=sum(news.steps for news in said),
        traces=traces,
        outcomes=tuple(sorted({outcome for report in reports for outcome in report.outcomes})),
        notes=deciding.notes if decided else _in_all(reports, deciding),
    )


def missed(said: Sequence[News]) -> tuple[str, ...]:
    """Return all points that jobs know, if those that share a search do not know the same."""
    known = [frozenset(news.share.points) for news in said if news.share is not None]
    every = frozenset[str]().union(*known)
    return tuple(sorted(every)) if any(points != every for points in known) else ()


def _in_all(reports: Sequence[Report], deciding: Report) -> tuple[str, ...]:
    """Keep the notes that all give: what was possible in no schedule of one may have been in those of another."""
    return tuple(note for note in deciding.notes if all(note in report.notes for report in reports))


def _split(strategy: str, jobs: int) -> str:
    """Say how a search was split, so that nobody takes jobs that sampled for a search that went faster."""
    if jobs == 1:
        return f"one job, because {strategy} is one process's work"
    is_portfolio = isinstance(STRATEGIES[strategy](0), Portfolio)
    return f"{jobs} jobs: one searched, {jobs - 1} sampled" if is_portfolio else f"{jobs} jobs"
