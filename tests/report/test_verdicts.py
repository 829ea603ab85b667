"""Verdicts as lines."""

from __future__ import annotations

import pytest

from omni_ipc.records import Report, Verdict
from omni_ipc.report.verdicts import effort_line, verdict_line


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (Verdict.HOLDS, "✓ split_map: holds (all 252 schedules)"),
        (Verdict.BOUNDED, "✓ split_map: bounded (all 252 schedules)"),
        (Verdict.VIOLATED, "✗ split_map: violated (all 252 schedules)"),
        (Verdict.INCONCLUSIVE, "? split_map: inconclusive (all 252 schedules)"),
    ],
)
def test_a_verdict_is_told_with_its_reason(verdict: Verdict, line: str) -> None:
    """Sign and word agree, and what the verdict rests on stands beside it."""
    assert verdict_line("split_map", verdict, "all 252 schedules").plain == line


def test_the_effort_is_told_in_numbers() -> None:
    """Schedules, distinct traces, steps, time and rate; a rate only where there was time."""
    report = Report("s", Verdict.HOLDS, "", "depth-first", schedules=2000, steps=40_000, traces=1, seconds=0.5)
    assert effort_line(report).plain == "  2,000 schedules, 1 distinct trace, 40,000 steps, 0.50 s, 4,000 schedules/s"
    report = Report("s", Verdict.HOLDS, "", "depth-first", schedules=1, steps=1, traces=1, seconds=0.0)
    assert effort_line(report).plain == "  1 schedule, 1 distinct trace, 1 step, 0.00 s"
