"""Recordings of real processes against models: accepted, rejected with the reason, or neither."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from omni_ipc.conformance.models.manifest import find_folder
from omni_ipc.conformance.models.manifest import load as load_manifest
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.recordings.cases import Pool, make_cases
from omni_ipc.conformance.recordings.lens import find_lens, load_lenses
from omni_ipc.conformance.recordings.looking import View, look
from omni_ipc.conformance.recordings.sessions import load
from omni_ipc.conformance.recordings.trace_module import module_files
from omni_ipc.conformance.recordings.validate import Answer, Bench, Found, validate
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive, UnknownName
from omni_ipc.records import Verdict
from omni_ipc.workflows.recording import record
from omni_ipc.workflows.validating import validate_recordings
from tests.support.lanes import ROOT
from tests.support.recordings import changed, cut_before, cut_inside, cut_last, doctored, moved, without
from tests.workflows.violations import LEFT, Recorded

TRACE = find_folder() / "trace"
EXPECTED = json.loads((TRACE / "bad" / "expected.json").read_text())
SPECS = ("SplitMap", "FutureOrphan")
GOOD = {"engines", "late_answers", "overtaken", "sleeps", "leaves", "reuses", "admits", "abandons"}
IN_ONE_SEARCH = ("StaleReply", "DrainBeforeSleep", "PumpSurvival", "ReusedRequestId", "Admission", "AbandonedStream")


@pytest.mark.parametrize("spec", [*SPECS, *(pytest.param(spec, marks=pytest.mark.soak) for spec in IN_ONE_SEARCH)])
def test_good_recordings_are_accepted_and_cover_the_whole_model(spec: str) -> None:
    """Explicitly, with all their steps; together they show each action and each interesting state."""
    validated = validate_recordings([TRACE / "ok"], spec=spec, whole=True)
    spoken = [session for session in validated.sessions if session.steps]
    assert {session.answer for session in spoken} == {Answer.ACCEPTED}
    assert sum(session.steps for session in spoken) == sum(validated.coverage.actions.values())
    assert (validated.verdict, validated.coverage.gaps) == (Verdict.HOLDS, ())


@pytest.mark.parametrize("spec", IN_ONE_SEARCH)
def test_good_and_bad_recordings_are_told_apart_in_one_search(spec: str) -> None:
    """The good ones come through each interesting state; the bad ones stop at the step that is known."""
    manifest = load_manifest()
    of_spec, lens = find_lens(spec, manifest)
    with Children() as children:
        bench = Bench(spec, of_spec, lens, manifest, Toolchain.find(), children)
        views = [look(session, of_spec, lens) for session in load([TRACE])]
        found = validate([view for view in views if view.steps and _is_of(view, spec)], bench)
    accepted = [each for each in found if each.answer is Answer.ACCEPTED]
    assert {probe for each in accepted for probe in each.probes} == set(bench.probes) != set()
    stopped = {_folder(each.case.view): each.case.first_left(each.at)[0] for each in found if each not in accepted}
    assert {_folder(each.case.view) for each in accepted} >= GOOD
    assert stopped == {name: expected["index"] for name, expected in EXPECTED.items() if expected["spec"] == spec}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("program", "defect", "spec"),
    [
        ("late_answers", "stale_reply", "StaleReply"),
        ("sleeps", "sleep_without_drain", "DrainBeforeSleep"),
        ("leaves", "cancelled_future", "PumpSurvival"),
        ("reuses", "reused_request_id", "ReusedRequestId"),
        ("admits", "aborted_output_leak", "Admission"),
        ("abandons", "abandoned_stream", "AbandonedStream"),
    ],
)
def test_the_programs_of_the_recordings_still_show_what_they_were_written_for(
    program: str, defect: str, spec: str, tmp_path: Path
) -> None:
    """Run again, on real processes: the reference is accepted, in each interesting state, and the defect is not."""
    command = [sys.executable, "-m", "tests.support.recorded_programs", program]
    for name, arguments in {"good": command, "bad": [*command, defect]}.items():
        assert record(arguments, tmp_path / name).exit_code == 0
    good = validate_recordings([tmp_path / "good"], spec=spec)
    assert (good.verdict, good.coverage.missed) == (Verdict.HOLDS, ())
    assert validate_recordings([tmp_path / "bad"], spec=spec).verdict is Verdict.VIOLATED


def _folder(view: View) -> str:
    return view.session.files[0].parent.name


def _is_of(view: View, spec: str) -> bool:
    """Tell whether a recording is a good one, or a bad one of this spec: other defects may show in it, too."""
    expected = EXPECTED.get(_folder(view))
    return expected is None or expected["spec"] == spec


@pytest.mark.parametrize("spec", [*SPECS, *(pytest.param(spec, marks=pytest.mark.soak) for spec in IN_ONE_SEARCH)])
def test_bad_recordings_are_rejected_at_the_step_that_is_known_and_with_its_repair(spec: str) -> None:
    """All in one search, each a session of its own; defects of real processes, and doctored ones."""
    names = [name for name, expected in EXPECTED.items() if expected["spec"] == spec]
    validated = validate_recordings([TRACE / "bad" / name for name in names], spec=spec)
    assert validated.verdict is Verdict.VIOLATED
    rejections = [session.rejection for session in validated.sessions if session.rejection]
    assert len(rejections) == len(validated.sessions) == len(names) > 0
    found = {(rejection.index, rejection.repair) for rejection in rejections}
    for name in names:
        index, repair = EXPECTED[name]["index"], EXPECTED[name]["repair"]
        assert any(at == index and told.startswith(repair) for at, told in found), (name, found)


def test_each_bad_recording_is_expected() -> None:
    """And there is none that is not there."""
    assert {path.name for path in (TRACE / "bad").iterdir() if path.is_dir()} == set(EXPECTED)


def test_a_step_that_the_lens_takes_otherwise_is_not_refused_for_what_the_model_alone_asks() -> None:
    """The model's clients look at the statistics once, others often; what is wrong is that nothing ended behind it."""
    (session,) = validate_recordings([TRACE / "bad" / "abandoned_stream"], spec="AbandonedStream").sessions
    assert session.rejection is not None
    (refused,) = (each for each in session.rejection.refused if each.step.startswith("EngineStatistics()"))
    assert refused.why == 'behind it, OpenNames is {}, and Scheduler._open is {"kept"} in the recording.'


def test_a_rejection_tells_how_far_each_task_came_and_which_guard_was_false() -> None:
    """With the values that it depends on, where it stands, and what the model could have done instead."""
    (session,) = validate_recordings([TRACE / "bad" / "missing_announcement"], spec="SplitMap").sessions
    rejection = session.rejection
    assert rejection is not None
    (refused,) = rejection.refused
    assert (refused.guard, refused.values) == (r"output \in inbox", {"inbox": "{}"})
    assert refused.where.startswith("SplitMap.tla:")
    assert 'WorkerAnnounce("1")' in rejection.enabled
    assert {(each.task, each.taken, each.of) for each in rejection.followed} >= {("pump", 0, 2), ("dispatcher", 0, 1)}
    assert rejection.state["splits"] == "{}"


def test_a_worker_that_settles_each_output_before_it_announces_any_is_rejected(tmp_path: Path) -> None:
    """It gives memory back that is still to be read; no announcement had come when it settled first."""
    late = doctored(TRACE / "ok" / "sleeps", tmp_path / "late", moved("Worker.Announce", 60))
    (session,) = validate_recordings([late], spec="DrainBeforeSleep").sessions
    assert session.answer is Answer.REJECTED
    assert session.rejection is not None
    assert session.rejection.step.startswith("WorkerSettle(")


@pytest.mark.parametrize(
    ("region", "change", "step", "why"),
    [
        (
            "Stream.Deliver",
            {"name": "Scheduler", "field": "_open", "gone": ["waiting"], "nth": 1},
            "StreamDeliver(number=2)",
            'OpenNames was {}, and Scheduler._open has lost {"waiting"}',
        ),
        (
            "Engine.Admit",
            {"name": "Scheduler", "field": "_open", "came": ["slow", "waiting"], "nth": 1},
            "EngineAdmit(number=waiting)",
            "",
        ),
        (
            "Consumer.Drop",
            {"name": "OutputTable", "field": "_cached", "came": ["3"]},
            "EngineAbort()",
            "",
        ),
    ],
)
def test_what_a_step_changes_beyond_the_model_is_rejected(
    region: str, change: dict[str, Any], step: str, why: str, tmp_path: Path
) -> None:
    """What it took away must have been there; what it did in a region inside of it, it did itself."""
    spoilt = doctored(TRACE / "ok" / "admits", tmp_path / "spoilt", changed(region, **change))
    (session,) = validate_recordings([spoilt], spec="Admission").sessions
    rejection = session.rejection
    assert rejection is not None
    assert rejection.step.startswith(step)
    assert why in "".join(refused.why for refused in rejection.refused)


def test_a_step_that_was_begun_by_who_was_killed_may_have_happened_or_not(tmp_path: Path) -> None:
    """With what others saw of it, and without."""
    seen = doctored(TRACE / "ok" / "split_map", tmp_path / "seen", cut_inside("Worker.Announce"))
    others = ("Pump.Unpack", "Pump.TakeSplit", "Dispatcher.Expect", "Consumer.Wait")
    unseen = doctored(seen, tmp_path / "unseen", *map(without, others))
    validated = validate_recordings([seen, unseen], spec="SplitMap")
    assert [session.answer for session in validated.sessions] == [Answer.ACCEPTED] * 2
    assert all(len(session.killed) == 1 for session in validated.sessions)


def test_a_recording_that_was_cut_is_inconclusive_if_only_a_missing_step_is_wrong(tmp_path: Path) -> None:
    """The step may stand in what was cut off; it is told which."""
    cut = doctored(TRACE / "ok" / "split_map", tmp_path / "cut", cut_before("Worker.Announce"))
    validated = validate_recordings([cut], spec="SplitMap")
    (session,) = validated.sessions
    assert (session.answer, validated.verdict) == (Answer.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert "has no end" in session.reason
    assert 'WorkerAnnounce("1")' in session.reason


def test_whoever_dies_excuses_no_step_that_is_missing_long_before(tmp_path: Path) -> None:
    """What the engine did until its last line is known, and that the worker announced nothing."""
    cut = doctored(TRACE / "bad" / "missing_announcement", tmp_path / "cut", cut_last("Pump.Unpack"))
    validated = validate_recordings([cut], spec="SplitMap")
    (session,) = validated.sessions
    assert (len(session.killed), session.answer, validated.verdict) == (1, Answer.REJECTED, Verdict.VIOLATED)


def test_a_session_of_which_a_file_is_missing_is_inconclusive(tmp_path: Path) -> None:
    """What is wrong may stand there, be it one step or many."""
    for program in ("split_map", "engines"):
        for file in (TRACE / "ok" / program).iterdir():
            if "Pump.Unpack" in file.read_text():
                (tmp_path / file.name).write_bytes(file.read_bytes())
    validated = validate_recordings([tmp_path], spec="SplitMap")
    sessions = [session for session in validated.sessions if session.steps]
    assert {session.answer for session in sessions} == {Answer.INCONCLUSIVE}
    assert validated.verdict is Verdict.INCONCLUSIVE
    assert all("a file is missing" in session.reason and session.rejection for session in sessions)


def test_what_the_model_says_nothing_of_is_inconclusive() -> None:
    """A recording of single outputs says nothing of batches: an empty acceptance would be none."""
    with pytest.raises(Inconclusive, match=r"SplitMap speaks of none of the \d+ steps .* met Pump.Deliver"):
        validate_recordings([TRACE / "ok" / "future_orphan"], spec="SplitMap")
    with pytest.raises(UnknownName, match=r"Known: .*SplitMap"):
        validate_recordings([TRACE / "ok" / "future_orphan"], spec="nothing")


@pytest.mark.soak
def test_the_first_steps_alone_are_looked_at_if_that_is_asked_for(recorded: Recorded) -> None:
    """Of a model that is slow; where the rest is left is told."""
    (session,) = validate_recordings([recorded("", LEFT)], spec="AsyncOutput", steps=5).sessions
    assert (session.steps, session.answer) == (5, Answer.ACCEPTED)
    assert session.leaving == {"its 5th step": 1}


def test_a_recording_without_a_step_is_told(tmp_path: Path) -> None:
    """Its process was killed as soon as it began: that says nothing of any model."""
    (recording, *_) = sorted((TRACE / "ok" / "future_orphan").iterdir())
    (tmp_path / recording.name).write_text(recording.read_text().partition("\n")[0] + "\n")
    with pytest.raises(Inconclusive, match="Not one step was recorded: each process ended before it took one"):
        validate_recordings([tmp_path], spec="FutureOrphan")


@pytest.mark.parametrize(
    ("old", "new", "lens", "answer", "reason", "untold"),
    [
        ("", "", {}, Answer.ACCEPTED, r"model\.", ("OutputTable._waiting", "OutputTable._splits")),
        ('"OutputTable"', '"LeakyTable"', {}, Answer.INCONCLUSIVE, r"no object OutputTable, which .*watch", ()),
        (
            ',"looked":[1]',
            "",
            {},
            Answer.INCONCLUSIVE,
            r"no region was left under the lock of OutputTable",
            ("OutputTable._waiting", "OutputTable._splits"),
        ),
        ("", "", {"observes": {}}, Answer.ACCEPTED, "alone: the lens observes no state", ()),
    ],
)
def test_steps_are_accepted_only_with_what_the_lens_observes(
    old: str,
    new: str,
    lens: dict[str, object],
    answer: Answer,
    reason: str,
    untold: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An object that was not watched, as it is called otherwise, shows no state; nor does a lens that observes none."""

    def accept(views: list[View], bench: Bench) -> list[Found]:
        return [Found(case, Answer.ACCEPTED) for view in views for case in make_cases(view, bench.lens, Pool())]

    of_spec, usual = find_lens("SplitMap", load_manifest())
    changed = msgspec.structs.replace(usual, **lens)
    monkeypatch.setattr("omni_ipc.workflows.validating.find_lens", lambda *_: (of_spec, changed))
    monkeypatch.setattr("omni_ipc.workflows.validating.validate", accept)
    for file in (TRACE / "ok" / "split_map").iterdir():
        (tmp_path / file.name).write_text(file.read_text().replace(old, new) if old else file.read_text())
    (session,) = validate_recordings([tmp_path], spec="SplitMap").sessions
    assert (session.answer, sorted(session.untold)) == (answer, sorted(untold))
    assert re.search(reason, session.reason)


def test_recordings_that_never_reach_the_interesting_states_are_under_covered() -> None:
    """Asked for the whole of the model, that is inconclusive."""
    validated = validate_recordings([TRACE / "ok" / "split_map"], spec="SplitMap", whole=True)
    assert validated.verdict is Verdict.INCONCLUSIVE
    assert validated.coverage.missed == ("NeverLateInv",)
    assert set(validated.coverage.reached) == {"NeverEarlyInv", "NeverCachedInv"}


@pytest.mark.soak
@pytest.mark.parametrize("spec", IN_ONE_SEARCH)
def test_what_a_suite_of_recordings_lacks_is_told_of_each_model(spec: str) -> None:
    """Of what happens unseen nothing is asked."""
    validated = validate_recordings([TRACE / "ok" / "overtaken"], spec=spec, whole=True)
    assert validated.verdict is Verdict.INCONCLUSIVE
    assert validated.coverage.missed
    assert not {"DeviceCopy", "FaultBreakLane", "ConsumerCancel"} & set(validated.coverage.gaps)


@pytest.mark.parametrize("spec", load_lenses(load_manifest()))
def test_no_line_of_a_search_grows_with_what_was_recorded(spec: str) -> None:
    """TLC looks through each line in a time that grows with its square: that was nine tenths of a search."""
    manifest = load_manifest()
    of_spec, lens = find_lens(spec, manifest)
    pool = Pool()
    views = [look(session, of_spec, lens) for session in load([TRACE / "ok"])]
    cases = [case for view in views if view.steps for case in make_cases(view, lens, pool)]
    recorded = module_files(of_spec, lens, (), cases, pool)["Recorded.tla"]
    assert len(recorded) > 1_000
    assert max(map(len, recorded.splitlines())) < 100


def test_a_search_that_takes_too_long_is_inconclusive(tmp_path: Path) -> None:
    """It is told for how long it was let run."""
    never_seen_before = doctored(TRACE / "ok" / "split_map", tmp_path / "other", without("Consumer.Wait"))
    validated = validate_recordings([never_seen_before], spec="SplitMap", budget_s=0.05)
    (session,) = validated.sessions
    assert session.answer is Answer.INCONCLUSIVE
    assert "TLC was stopped after 0.05 s" in session.reason


@pytest.mark.parametrize(
    ("engines", "requests", "spec"),
    [
        (1, 200, "SplitMap"),
        pytest.param(1, 5000, "SplitMap", marks=pytest.mark.soak),
        pytest.param(2, 800, "AsyncOutput", marks=pytest.mark.soak),
    ],
)
def test_ten_thousand_steps_of_four_processes_are_searched_within_a_minute(
    engines: int, requests: int, spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An engine and three workers, or two engines with one each; a minute of computing, also on a busy machine."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from omni_ipc.serving.engine import Engine, PipelineSpec\n"
        "from omni_ipc.serving.engine_config import EngineConfig\n"
        "from omni_ipc.serving.requests import Request\n"
        "pipeline = PipelineSpec('omni_ipc.pipelines.synthetic:Synthetic', {'nbytes': 1000})\n"
        "config = EngineConfig(max_batch=4, workers=int(sys.argv[2]))\n"
        "with Engine(config, pipeline) as engine, ThreadPoolExecutor(12) as clients:\n"
        "    list(clients.map(lambda number: engine.generate(Request(str(number))), range(int(sys.argv[3]))))\n"
    )
    command = f"{sys.executable} {program} {ROOT} {4 // engines - 1} {requests}"
    recorded = record(["sh", "-c", " & ".join([command] * engines) + "; wait"], tmp_path / "log")
    assert (recorded.exit_code, len(recorded.files)) == (0, 4)
    before_s = _computed_s()
    validated = validate_recordings([tmp_path / "log"], spec=spec, budget_s=600)
    took_s = _computed_s() - before_s
    steps = sum(session.steps for session in validated.sessions)
    with capsys.disabled():
        print(f"\n{steps:,} steps of {len(recorded.files)} processes against {spec}: {took_s:.1f} s of computing")
    assert {session.answer for session in validated.sessions} == {Answer.ACCEPTED}
    assert (len(validated.sessions), validated.verdict) == (engines, Verdict.HOLDS)
    assert steps > 1.5 * requests
    assert took_s < 60


def _computed_s() -> float:
    """Tell how long this process and its children that have ended have computed, in seconds."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
