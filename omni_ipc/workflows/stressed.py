"""What a collection of traces came to on worker processes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from omni_ipc.records import Trace, Verdict


class Tried(msgspec.Struct, frozen=True):
    """What several runs along one trace came to, on the reference or on a defect.

    Args:
        as_claimed: runs that ended well on the reference, or in a failure on the defect.
        followed: steps that were taken in their turn, in the run that took the fewest.
        passed: steps that no task needed, in that run; see `Conducted`.
        ms: median of the runs.
        told: the failure of the first run that failed, or else where a run leaves the trace.
    """

    runs: int
    as_claimed: int
    followed: int
    passed: int
    of: int
    ms: float
    told: str | None = None


class Row(msgspec.Struct, frozen=True):
    """One trace.

    Args:
        verdict: None if it is none for worker processes, and was not run.
        reasons: why it is not as claimed, or not known to be; a sentence each.
    """

    trace: str
    scenario: str
    defect: str | None
    verdict: Verdict | None
    reference: Tried | None = None
    with_defect: Tried | None = None
    reasons: tuple[str, ...] = ()

    @classmethod
    def untried(cls, name: str, trace: Trace, verdict: Verdict | None, reason: str) -> Row:
        """Tell of a trace why it did not come to its runs."""
        return cls(name, trace.scenario, trace.defect, verdict, reasons=(reason,))

    @property
    def seconds(self) -> float:
        """How long its runs took, together."""
        return sum(tried.ms * tried.runs for tried in (self.reference, self.with_defect) if tried is not None) / 1e3


class Stressed(msgspec.Struct, frozen=True):
    """What became of a collection.

    Args:
        rows: of all traces, also of those that were not run.
        left: how many were not tried, because it was interrupted, or ended with the error of the last row before them.
    """

    device: str
    repeat: int
    verdict: Verdict
    rows: tuple[Row, ...]
    left: int = 0


def verdict_of(rows: Sequence[Row]) -> Verdict:
    """Give the worst there is; inconclusive if nothing was run at all."""
    found = {row.verdict for row in rows if row.verdict is not None} or {Verdict.INCONCLUSIVE}
    return next((bad for bad in (Verdict.VIOLATED, Verdict.INCONCLUSIVE) if bad in found), Verdict.ENDED_WELL)
