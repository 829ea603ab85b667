"""The product walked along every step of its models; and each field defect, seen by nothing but the walk."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from pathlib import Path
from typing import Any

import pytest

from omni_ipc.cli.conform import conform as command
from omni_ipc.conformance.models import manifest as manifests
from omni_ipc.conformance.models.manifest import Role
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import EnvironmentMissing, UnknownName, UsageError
from omni_ipc.records import FailureKind, Trace, Verdict
from omni_ipc.scenarios import KNOWN, SCENARIOS
from omni_ipc.workflows import conforming
from omni_ipc.workflows.conforming import WalkedModel, conform, conform_along, save_divergence
from omni_ipc.workflows.replaying import replay
from tests.pytest_plugin.session import session
from tests.support.documents import DOCS

GRAPHS = [model.spec for model in manifests.load().models if model.role is Role.GRAPH]
WALKED = [scenario.name for scenario in SCENARIOS.values() if scenario.model in GRAPHS]
SHOWN = [
    (defect.name, scenario)
    for defect in KNOWN.values()
    for scenario in (defect.scenario, *defect.also)
    if scenario in WALKED
]

IN_PART = {"async_output"}  # the whole path is walked wholly by `make nightly`
SHORT_S = 5.0


def walk(name: str, **options: Any) -> WalkedModel:
    [walked] = conform([name], **options).models
    return walked


def test_the_command_gives_a_model_the_seconds_that_are_documented() -> None:
    """Its option cannot name the workflow's constant, which would be imported for each ``--help``."""
    assert inspect.signature(command).parameters["seconds"].default == conforming.SECONDS
    page = (DOCS / "conformance.md").read_text()
    assert f"with its {conforming.SECONDS:g} seconds of computing at most for a model" in page


def test_every_graph_is_walked_by_a_scenario() -> None:
    """A graph that nobody walks shows nothing."""
    assert {SCENARIOS[name].model for name in WALKED} == set(GRAPHS)
    assert len(GRAPHS) >= 3


@pytest.mark.parametrize("name", WALKED)
def test_the_reference_agrees_with_its_model_in_every_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each state the same steps, after each step the same state; from the committed graph, without TLC."""

    def missing() -> Toolchain:
        raise EnvironmentMissing("There is no TLC.", "It is not needed here: omni-ipc spec sync")

    monkeypatch.setattr(Toolchain, "find", missing)
    walked = walk(name, seconds=SHORT_S if name in IN_PART else conforming.SECONDS)
    assert walked.verdict is Verdict.BOUNDED, walked.reason
    assert walked.taken == walked.edges or name in IN_PART, walked.reason
    assert (walked.edges > 20_000) == (name in IN_PART)
    assert walked.steps >= conforming.LEAST_STEPS
    assert sum(action.of for action in walked.actions) == walked.edges
    assert "TLC did not run" in walked.graph


@pytest.mark.parametrize(("defect", "scenario"), SHOWN)
def test_a_defect_is_seen_by_the_walk(defect: str, scenario: str) -> None:
    """It makes the code differ from its model, by a way that is told; the same way agrees on the reference."""
    walked = walk(scenario, defect=defect)
    assert walked.verdict is Verdict.VIOLATED
    assert walked.trace is not None
    assert walked.trace.failure == walked.failure
    assert conform_along(walked.trace) is None
    assert conform_along(walked.trace, defect=defect) is not None


def test_a_saved_divergence_is_a_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is replayed with the defect and fails, on the reference and ends well: by command, and collected by pytest."""
    walked = walk("SplitMap", defect="late_split_map")
    assert walked.trace is not None
    saved = save_divergence(walked.trace, tmp_path)
    assert saved == tmp_path / "split_map.late_split_map.conform.trace.json"
    trace = Trace.load(saved)
    assert [step.action for step in trace.steps] == [
        "Worker.Announce",
        "Pump.Unpack",
        "Pump.TakeSplit",
        "Dispatcher.Expect",
    ], "the shortest way"
    with_defect = replay(trace, defect="late_split_map")
    assert with_defect.verdict is Verdict.VIOLATED
    assert with_defect.failure is not None
    assert with_defect.failure.kind is FailureKind.DIVERGENCE
    assert "DispatcherExpect" in with_defect.failure.message
    assert replay(trace).verdict is Verdict.ENDED_WELL
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nomni_ipc_traces = .\naddopts = -p no:cacheprovider\n")
    assert session(tmp_path, "-v").counts == {"passed": 2}


def test_a_walk_without_time_says_how_much_it_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no failure, and no claim about the rest; and nothing at all is inconclusive."""
    walked = walk("SplitMap", seconds=1e-9)
    assert (walked.verdict, walked.taken) == (Verdict.INCONCLUSIVE, 0)
    assert "there was no time. Give it more: --seconds" in walked.reason
    times = itertools.count()
    monkeypatch.setattr("time.process_time", lambda: float(next(times)))  # a run a second
    walked = walk("SplitMap", seconds=3)
    assert walked.verdict is Verdict.BOUNDED
    assert 0 < walked.taken < walked.edges
    assert sum(walked.times) >= walked.taken == sum(count > 0 for count in walked.times)
    assert "and agreed; there was no time for more" in walked.reason


def test_a_step_that_a_round_gave_up_is_told_though_there_was_no_time_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A round that is cut short has given up nothing, and taken it away from nobody's account."""
    cover, rounds = conforming.Walker.cover, itertools.count()

    def forgets(walker: conforming.Walker, **_: Any) -> None:
        if next(rounds) == 0:
            assert cover(walker) is None
            walker.never = {max(walker.times)}
            del walker.times[max(walker.times)]

    monkeypatch.setattr(conforming.Walker, "cover", forgets)
    walked = walk("SplitMap", seconds=2)
    assert walked.verdict is Verdict.VIOLATED
    assert "never takes" in walked.reason or "never taken" in walked.reason


def test_what_cannot_be_walked_is_told() -> None:
    """An unknown name, an unknown defect, one that shows elsewhere or in no walk, no time at all."""
    with pytest.raises(UnknownName, match=r"no walkable model 'SplitMop'\. Did you mean 'SplitMap'"):
        conform(["SplitMop"])
    with pytest.raises(UnknownName, match="no defect 'late_split'"):
        conform(defect="late_split")
    with pytest.raises(UsageError, match="shows in no scenario that is walked along a model"):
        conform(defect="wait_counted_as_compute")
    with pytest.raises(UsageError, match="does not show in the scenario 'split_map'"):
        conform(["SplitMap"], defect="dual_writers")
    with pytest.raises(UsageError, match="seconds must be positive"):
        conform(["SplitMap"], seconds=0)


def test_a_scenario_whose_steps_are_not_those_of_the_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step too few, or one that no action has."""
    whole = SCENARIOS["future_orphan"]
    for steps, complaint in (
        (whole.steps - {("pump", "Pump.Unpack")}, "'pump' takes the step Pump.Unpack, which is not among"),
        (whole.steps | {("pump", "Pump.Dance")}, "Pump.Dance of the task 'pump', and the model has no such action"),
    ):
        changed = {**SCENARIOS, "future_orphan": dataclasses.replace(whole, steps=steps)}
        monkeypatch.setattr("omni_ipc.scenarios.SCENARIOS", changed)
        with pytest.raises(UsageError, match=complaint):
            conform(["FutureOrphan"])
