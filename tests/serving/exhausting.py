"""Scenarios of these tests in every order of their steps, or in many."""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore


def exhaust(scenario: Callable[[ControlledRuntime], object]) -> None:
    """Run a scenario in every order; none fails."""
    report = explore(scenario, strategy="dpor", declared=True)
    assert report.failure is None, report.failure
    assert report.verdict is Verdict.HOLDS, report.reason


def sample(scenario: Callable[[ControlledRuntime], object], *, runs: int = 300) -> None:
    """Run a scenario, which has more orders than a test has time for, in so many of them; none fails."""
    report = explore(scenario, runs=runs, declared=True)
    assert report.failure is None, report.failure
    assert report.verdict in (Verdict.HOLDS, Verdict.BOUNDED)
