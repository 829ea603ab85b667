"""A drain, a kill, and a slow device: what frees memory waits, is refused in time, or dies, and nothing hangs."""

from __future__ import annotations

import pytest

from omni_ipc.records import FailureKind, Verdict
from omni_ipc.scenarios import DEFECTS, Parts
from omni_ipc.scenarios.drain import REFUSED, DrainWorld
from omni_ipc.scenarios.world import CONFIG
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.workflows.exploring import explore_scenario

SLOW_S = (CONFIG.drain_timeout_s + CONFIG.output_timeout_s) / 2
"""Longer than a drain, and not so long that the engine gives the output up."""


def test_a_worker_that_is_killed_while_it_drains_leaves_nobody_waiting() -> None:
    """At any step: call and consumer hear of the death, or have what they asked for; no time-out is met."""
    report = explore_scenario("drain", faults=["kill:worker"], runs=400)
    assert (report.verdict, report.failure) == (Verdict.BOUNDED, None)
    assert any("killed" in outcome for outcome in report.outcomes)
    assert any("killed" not in outcome for outcome in report.outcomes)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_in_no_order_at_all_does_a_killed_worker_leave_somebody_waiting() -> None:
    """The same, exhausted."""
    report = explore_scenario("drain", strategy="dpor", faults=["kill:worker"])
    assert report.verdict is Verdict.HOLDS, report.reason


def test_a_sleep_that_would_wait_too_long_is_refused_before_the_output_is_given_up() -> None:
    """The output comes whole, late as it is: its memory was left alone."""

    def scenario(rt: ControlledRuntime) -> object:
        return DrainWorld(rt, Parts(), takes_s=SLOW_S).run()

    report = explore(scenario, strategy="dpor", declared=True)
    assert report.verdict is Verdict.HOLDS, report.failure or report.reason
    (outcome,) = report.outcomes
    assert "('1', 'delivered')" in outcome
    assert REFUSED.replace("'", "\\'") in outcome


def test_without_the_drain_a_slow_device_always_copies_what_was_given_back() -> None:
    """No race is needed then: every order shows it."""
    parts = DEFECTS["sleep_without_drain"].parts

    def scenario(rt: ControlledRuntime) -> object:
        return DrainWorld(rt, parts, takes_s=SLOW_S).run()

    failure = explore(scenario, runs=1, declared=True).failure
    assert failure is not None
    assert failure.kind is FailureKind.EXCEPTION
    assert "1: it came with other bytes than were computed" in failure.message
