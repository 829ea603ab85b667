"""Verdicts as lines."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from omni_ipc.records import Report, Verdict
from omni_ipc.report.verdicts import effort, sign, verdict_lines


@pytest.mark.parametrize(
    ("verdict", "headline"),
    [
        (Verdict.HOLDS, "✓ split_map: holds"),
        (Verdict.BOUNDED, "✓ split_map: bounded"),
        (Verdict.ENDED_WELL, "✓ split_map: ended well"),
        (Verdict.VIOLATED, "✗ split_map: violated"),
        (Verdict.DIVERGED, "≠ split_map: diverged"),
        (Verdict.INCONCLUSIVE, "? split_map: inconclusive"),
    ],
)
def test_a_verdict_is_told_with_its_reason(verdict: Verdict, headline: str) -> None:
    """Sign and word agree, and what the verdict rests on stands below."""
    console = Console(file=StringIO(), width=40)
    console.print(verdict_lines("split_map", verdict, "all 252 schedules were run, and in each order"))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.rstrip() for line in lines] == [headline, "  all 252 schedules were run, and in", "  each order"]


def test_each_verdict_has_a_sign_of_its_own_kind() -> None:
    """Whatever a command may say can be told at a glance: only what is as claimed gets a tick."""
    assert {v for v in Verdict if sign(v).plain == "✓"} == {v for v in Verdict if v.exit_code == 0}


def test_the_effort_is_told_in_numbers() -> None:
    """Schedules, distinct traces, steps, time and rate; a rate only where there was time."""
    report = Report("s", Verdict.HOLDS, "", "depth-first", schedules=2000, steps=40_000, traces=1, seconds=0.5)
    assert effort(report) == "2,000 schedules, 1 distinct trace, 40,000 steps, 0.50 s, 4,000 schedules/s"
    report = Report("s", Verdict.HOLDS, "", "depth-first", schedules=1, steps=1, traces=1, seconds=0.0)
    assert effort(report) == "1 schedule, 1 distinct trace, 1 step, 0.00 s"
