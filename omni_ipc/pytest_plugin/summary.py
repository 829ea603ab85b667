"""What the terminal says after all tests have run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import Trace

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
    if sentence := unreplayed(reporter.config):
        reporter.section("schedules: nothing was replayed")
        reporter.line(sentence)
    if commands:
        reporter.section("schedules that failed: replay them, look at them")
        for command in commands:
            reporter.line(command)


def unreplayed(config: pytest.Config) -> str | None:
    """Say why no test was run along the trace that was given; None if none was given, or one was."""
    file = config.getoption("--omni-replay")
    reporter = config.pluginmanager.get_plugin("terminalreporter")  # a worker of xdist has none
    if file is None or reporter is None or config.getoption("collectonly"):
        return None
    verdicts = [
        verdict for reports in reporter.stats.values() for report in reports for verdict in _all(report, VERDICT)
    ]
    if any(verdict.startswith("replayed") for verdict in verdicts):
        return None
    try:
        scenario = Trace.load(Path(file)).scenario
    except UsageError as error:
        return str(error)
    if "::" not in scenario:
        return f"'{file}' is of {scenario}, which is no test. Run: {shlex.join(['omni-ipc', 'replay', file])}"
    command = shlex.join(["pytest", scenario, "--omni-replay", file])
    return f"'{file}' is of {scenario}, and no test of that name that is marked 'interleave' was chosen. Run: {command}"


def _all(report: Any, name: str) -> list[str]:
    return [str(value) for key, value in getattr(report, "user_properties", ()) if key == name]
