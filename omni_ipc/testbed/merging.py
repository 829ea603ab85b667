"""What the jobs of an exploration say, and how their reports become one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from omni_ipc.records import Report, Verdict
from omni_ipc.testbed.strategies import STRATEGIES
from omni_ipc.testbed.strategies.portfolio import Portfolio


class Share(msgspec.Struct, frozen=True):
    """How much of a search that is shared out one job has run.

    Args:
        claim: what its report claims, in the words of its strategy.
        whole: runs that it alone counts as whole.
        ended, cut: whether nothing is left to run, and whether a bound has kept anything from being run.
        points: accesses that it knows to be points: shares fit together if all know the same.
    """

    claim: str
    whole: int
    ended: bool
    cut: bool
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
    spokesman = min(told, key=_rank)
    deciding = reports[told.index(spokesman)]
    schedules = sum(news.schedules for news in said)
    signatures = {signature for news in said for signature in news.signatures}
    reason, traces, split = deciding.reason, deciding.traces, _split(strategy, len(said))
    if not spokesman.decides:
        reason, traces = "; ".join(dict.fromkeys(report.reason for report in reports)), len(signatures) or traces
        shares = [news.share for news in told if news.share is not None]
        if spokesman.share is not None and len(shares) == len(told):
            reason = deciding.reason.replace(spokesman.share.claim, _of_all(shares, strategy, schedules), 1)
            traces = len(signatures) or sum(share.whole for share in shares)
        elif len(reports) > 1 and all(report.reason == reason for report in reports):  # each has told its own runs
            split = f"each of {split}"
    return msgspec.structs.replace(
        deciding,
        reason=f"{reason} (in {split})",
        schedules=schedules,
        steps=sum(news.steps for news in said),
        traces=traces,
        outcomes=tuple(sorted({outcome for report in reports for outcome in report.outcomes})),
        notes=deciding.notes if spokesman.decides else _in_all(reports, deciding),
    )


def _of_all(shares: Sequence[Share], strategy: str, schedules: int) -> str:
    """Say what the shares of a search claim together."""
    return STRATEGIES[strategy](0).claim(
        schedules,
        sum(share.whole for share in shares),
        ended=all(share.ended for share in shares),
        cut=any(share.cut for share in shares),
    )


def missed(said: Sequence[News]) -> tuple[str, ...]:
    """Return all points that jobs know, if those that have shared a search to its end do not know the same."""
    shares = [news.share for news in said if news.share is not None]
    every = frozenset[str]().union(*(share.points for share in shares))
    is_whole = all(share.ended for share in shares)
    return tuple(sorted(every)) if is_whole and any({*share.points} != every for share in shares) else ()


def _rank(news: News) -> int:
    """Say who speaks for all: who has an answer for them; else who has something left to run."""
    if news.decides:
        return 0
    if news.report is not None and news.report.verdict is Verdict.BOUNDED:
        return 2 if news.share is not None and news.share.ended else 1
    return 3


def _in_all(reports: Sequence[Report], deciding: Report) -> tuple[str, ...]:
    """Keep the notes that all give: what was possible in no schedule of one may have been in those of another."""
    return tuple(note for note in deciding.notes if all(note in report.notes for report in reports))


def _split(strategy: str, jobs: int) -> str:
    """Say how a search was split, so that nobody takes jobs that sampled for a search that went faster."""
    is_portfolio = isinstance(STRATEGIES[strategy](0), Portfolio)
    return f"{jobs} jobs: one searched, {jobs - 1} sampled" if is_portfolio else f"{jobs} jobs"
