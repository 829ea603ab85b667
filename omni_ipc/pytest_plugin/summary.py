"""What the terminal says after all tests have run."""

from __future__ import annotations

from typing import Any

import pytest

VERDICT = "omni_ipc.verdict"
REPLAY = "omni_ipc.replay"
NOTE = "omni_ipc.note"
"""Properties of a test's report: so they reach the terminal from the workers of xdist, too."""


def summarize(reporter: pytest.TerminalReporter) -> None:
    """Say what is odd, on what the verdicts rest that are less than "holds", and how to replay and see what failed."""
    reports = [report for status in ("passed", "failed") for report in reporter.getreports(status)]
    bounded = [(report.nodeid, verdict) for report in reports for verdict in _all(report, VERDICT)]
    bounded = [(name, verdict) for name, verdict in bounded if verdict.startswith("bounded")]
    notes = [(report.nodeid, note) for report in reports for note in _all(report, NOTE)]
    commands = [command for report in reports for command in _all(report, REPLAY)]
    if notes:
        reporter.section("schedules: to be noted")
        for name, note in notes:
            reporter.line(f"{name}: {note}")
    if bounded:
        reporter.section("schedules: bounded, not exhausted")
        for name, verdict in bounded:
            reporter.line(f"{name}: {verdict.partition(': ')[2]}")
    if commands:
        reporter.section("schedules that failed: replay them, look at them")
        for command in commands:
            reporter.line(command)


def _all(report: Any, name: str) -> list[str]:
    return [str(value) for key, value in getattr(report, "user_properties", ()) if key == name]
