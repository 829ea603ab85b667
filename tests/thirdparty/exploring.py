"""Explores scenarios on released packages."""

from __future__ import annotations

import threading
from collections.abc import Callable

from omni_ipc.records import Report, Verdict
from omni_ipc.testbed import explore, replay, shrink

Scenario = Callable[[], object]


def together(*bodies: Callable[[], object]) -> None:
    """Run functions in threads, and wait for their ends."""
    threads = [threading.Thread(target=body, name=name) for name, body in zip("abcd", bodies, strict=False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def expect_fault(scenario: Scenario, *modules: str, message: str) -> Report:
    """Check that a fault is found, with these words, that its trace replays, and that shrinking keeps it."""
    report = explore(scenario, instrument=modules, runs=20_000)
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert report.failure is not None
    assert report.trace is not None
    assert message in report.failure.message, report.failure
    assert replay(scenario, report.trace).failure == report.failure
    shrunk = shrink(scenario, report.trace)
    assert shrunk.failure is not None
    assert message in shrunk.failure.message
    return report


def expect_hold(scenario: Scenario, *modules: str) -> Report:
    """Check that all schedules that can matter were run, and that none fails."""
    report = explore(scenario, instrument=modules, strategy="dpor", runs=50_000)
    assert report.verdict is Verdict.HOLDS, (report.verdict, report.reason)
    return report
