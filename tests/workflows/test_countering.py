"""Counterexamples of all bug models on code: the defect goes along, the reference does not."""

from __future__ import annotations

import functools
import re

import msgspec
import pytest

from omni_ipc.conformance.counterexamples.replay import Departure, Difference, Followed
from omni_ipc.conformance.models.manifest import Role, load
from omni_ipc.errors import UsageError
from omni_ipc.records import Failure, FailureKind, Verdict
from omni_ipc.scenarios import SCENARIOS
from omni_ipc.workflows import countering
from omni_ipc.workflows.countering import Countered, counter_models

AT_CODE_GRAIN = sorted({scenario.model for scenario in SCENARIOS.values() if scenario.model} & load().specs.keys())
FAILURE = Failure(FailureKind.LOST_WAKEUP, "a waits for ever")
FAILING = Followed(steps=5, places=(), failure=FAILURE)
WELL = Followed(steps=5, places=())
ELSEWHERE = Followed(steps=5, places=(), departure=Departure(4, "outputs.py:8 in f", (Difference("cached", "1", "2"),)))


def has_bugs(spec: str) -> bool:
    return any(model.spec == spec and model.role is Role.BUG for model in load().models)


@functools.cache
def counter_spec(spec: str) -> tuple[Countered, ...]:
    return counter_models([f"{spec}/bug"])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("spec", [spec for spec in AT_CODE_GRAIN if has_bugs(spec)])
def test_each_counterexample_leads_the_defect_astray_and_not_the_reference(spec: str) -> None:
    """State by state, lassos three times; the reference refuses a step, goes elsewhere, or ends well."""
    for countered in counter_spec(spec):
        assert countered.verdict is Verdict.HOLDS, countered
        assert countered.steps > 0


def test_a_circle_is_walked_three_times_and_is_the_same_each_time() -> None:
    """Of a real model, step by step and state by state; the reference refuses to, at a line of the product."""
    [circling] = [countered for countered in counter_spec("Lane") if countered.rounds]
    assert (circling.model, circling.rounds) == ("Lane/bug/sleeps_on/live", 3)
    assert circling.trace is not None
    steps = circling.trace.steps
    assert [str(step) for step in steps[-2:]] == ["time: Time.Pass()", "reader: Sleeper.Sleep(side=reader)"]
    assert steps[-2:] == steps[-4:-2] == steps[-6:-4]
    assert steps[-7].state == steps[-1].state
    assert f"All {len(steps)} steps ran" in circling.with_defect
    assert "comes again in each of 3 rounds. Then it fails: lost wake-up: 'main' waits for the end of 'reader'" in (
        circling.with_defect
    )
    assert re.search(
        r"was refused at bell\.py:\d+ in sleep_unless: .*Sleeper\.Unpark.* instead\. Then it ends well",
        circling.reference,
    )


def test_no_spec_is_without_code_at_its_grain() -> None:
    """Each spec with bug models has a scenario at its grain."""
    assert {model.spec for model in load().models if model.role is Role.BUG} <= set(AT_CODE_GRAIN)


def test_a_model_that_must_hold_has_nothing_to_try() -> None:
    """The command that names those of its spec that have."""
    with pytest.raises(UsageError, match=r"'SplitMap/design' has no defect.* omni-ipc replay SplitMap/bug\."):
        counter_models(["SplitMap/design"])


def test_a_spec_without_code_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, and nothing is claimed; Java is not even asked."""
    monkeypatch.setattr(countering, "SCENARIOS", {})
    (countered,) = counter_models(["SplitMap/bug/late_split_map/live"])
    assert countered == Countered(
        "SplitMap/bug/late_split_map/live",
        "late_split_map",
        Verdict.INCONCLUSIVE,
        with_defect="No scenario is at the grain of SplitMap.",
    )


class Judging:
    """Judges made-up ways of the code along real counterexamples."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def __call__(self, model: str, defective: Followed, reference: Followed) -> Verdict:
        ways = iter([defective, reference])
        self._patch.setattr(countering, "follow_model", lambda *_: next(ways))
        (countered,) = counter_models([model])
        return countered.verdict


def test_both_sides_must_come_as_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defect all the way, and it fails; the reference not into the bad state, and without a failure."""
    judge = functools.partial(Judging(monkeypatch), "Admission/bug/deferred_admission")
    assert judge(FAILING, ELSEWHERE) is Verdict.HOLDS
    assert judge(WELL, ELSEWHERE) is Verdict.VIOLATED, "the defect did no harm"
    assert judge(ELSEWHERE, ELSEWHERE) is Verdict.VIOLATED, "the defect went elsewhere"
    assert judge(FAILING, WELL) is Verdict.VIOLATED, "the reference came to the bad state"
    assert judge(FAILING, msgspec.structs.replace(ELSEWHERE, failure=FAILURE)) is Verdict.VIOLATED


def test_nothing_more_that_happens_is_harm_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the counterexample stays for ever, the code with the defect must stay, or fail; the reference must not."""
    judge = functools.partial(Judging(monkeypatch), "SplitMap/bug/late_split_map/live")
    resting = msgspec.structs.replace(WELL, rests=True)
    assert judge(resting, WELL) is Verdict.HOLDS
    assert judge(FAILING, ELSEWHERE) is Verdict.HOLDS
    assert judge(WELL, WELL) is Verdict.VIOLATED, "the defect could go on"
    assert judge(resting, resting) is Verdict.VIOLATED, "the reference stays, too"
