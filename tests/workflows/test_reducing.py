"""Violations on real processes are cut down to traces that replay under control, from their recordings alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from omni_ipc.conformance.recordings.sessions import load
from omni_ipc.errors import Inconclusive, UnknownName, UsageError
from omni_ipc.records import Failure, FailureKind, Report, Trace, Verdict
from omni_ipc.workflows.reducing import _found, reduce_recordings
from omni_ipc.workflows.replaying import replay
from omni_ipc.workflows.suspects import suspects
from tests.workflows.violations import DEFECTS, Recorded


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_that_showed_on_processes_becomes_a_trace(defect: str, recorded: Recorded, tmp_path: Path) -> None:
    """Along the order that was recorded, and not by a search of its own; it fails each time it is replayed."""
    recordings = recorded(defect)
    reduced = reduce_recordings([recordings], defect=defect, to=tmp_path / "found", seconds=60)
    assert (reduced.verdict, reduced.along, reduced.defect) == (Verdict.VIOLATED, True, defect)
    assert reduced.trace is not None
    trace = Trace.load(Path(reduced.trace))
    assert trace.strategy == "guided by a recording, seed 0"
    replayed = replay(trace, defect=defect)
    assert (replayed.verdict, replayed.followed) == (Verdict.VIOLATED, len(trace.steps))
    assert replay(trace).verdict is not Verdict.VIOLATED


def test_the_reference_in_the_same_order_is_no_violation(recorded: Recorded, tmp_path: Path) -> None:
    """On processes it ends well, and so it does in every scenario, which is told as what it is."""
    recordings = recorded("", "late_split_map")
    reduced = reduce_recordings([recordings], to=tmp_path / "found", seconds=0.5)
    assert reduced.verdict is Verdict.INCONCLUSIVE
    assert reduced.trace is None
    assert not (tmp_path / "found").exists()
    assert "fails in none of" in reduced.summary
    assert "Keep the recordings" in reduced.summary


def test_what_was_raised_is_suspected_before_what_was_held(recorded: Recorded) -> None:
    """The output at which the pump died, with the regions that concern it, in their order."""
    (session,) = load([recorded("cancelled_future")])
    first, *_ = suspects(session)
    assert (first.output, first.why) == ("1", "Pump.Deliver raised InvalidStateError")
    wanted = ("Engine.Admit", "Dispatcher.Mint", "Worker.Announce", "Pump.Unpack", "Stream.End", "Pump.Deliver")
    assert tuple(action for action in first.order if action in wanted) == wanted


def test_a_region_inside_of_another_counts_as_that_one(recorded: Recorded) -> None:
    """The abort drops the output, and an abort is what a scenario can do."""
    (session,) = load([recorded("aborted_output_leak")])
    (only,) = suspects(session)
    assert only.why.startswith("it was held for ")
    assert "Consumer.Drop" not in only.order
    assert only.order.index("Dispatcher.Settle") < only.order.index("Engine.Abort") < only.order.index("Pump.Deliver")


def test_the_request_that_is_known_to_be_concerned_comes_first(recorded: Recorded) -> None:
    """By the client's name of it; who is not known is nobody."""
    (session,) = load([recorded("late_split_map")])
    (first, *_) = suspects(session, requests=["b", "somebody"])
    assert (first.output, first.why) == ("1", "it is of the request that is concerned")
    assert first.order.count("Engine.Admit") == first.order.count("Consumer.Wait") == 2


def test_a_trace_replaces_none_that_shows_something_else(tmp_path: Path) -> None:
    """Of several findings each keeps its own; those that show the same have one, however it was found."""
    one = Trace.load(Path(__file__).parents[1] / "bugs" / "split_map.late_split_map.trace.json")
    other = msgspec.structs.replace(one, failure=Failure(FailureKind.DEADLOCK, "Nobody moves."))
    shorter = msgspec.structs.replace(one, steps=one.steps[:-1], causes=())
    (taken := tmp_path / "split_map.late_split_map-3.trace.json").write_text("{}")

    def saved(trace: Trace) -> str:
        report = Report("split_map", Verdict.VIOLATED, "", "", 1, 1, 1, 0.1, failure=trace.failure, trace=trace)
        path = _found(report, trace, (), tmp_path, along=True, schedules=1).trace
        assert path is not None
        assert Trace.load(Path(path)).failure == trace.failure
        return Path(path).name.removeprefix("split_map.late_split_map")

    found = [one, other, shorter, msgspec.structs.replace(one, schedule=7, strategy="another"), other]
    ends = [".trace.json", "-2.trace.json", "-4.trace.json", ".trace.json", "-2.trace.json"]
    assert [saved(trace) for trace in found] == ends
    assert taken.read_text() == "{}"


def test_bad_input_is_told(tmp_path: Path) -> None:
    """What cannot be looked for, or where."""
    with pytest.raises(UsageError, match="no recording in"):
        reduce_recordings([tmp_path], to=tmp_path)
    with pytest.raises(UnknownName, match=r"Known: .*late_split_map"):
        reduce_recordings([tmp_path], to=tmp_path, defect="rain")
    with pytest.raises(UsageError, match="seconds must be positive"):
        reduce_recordings([tmp_path], to=tmp_path, seconds=0)


def test_a_recording_without_an_output_cannot_be_followed(tmp_path: Path) -> None:
    """As that of another program."""
    process = '{"kind":"process","thread":0,"number":0,"version":1,"pid":1,"parent":0,"command":"x"}\n'
    (tmp_path / "1-1.recording.jsonl").write_text(process)
    with pytest.raises(Inconclusive, match="No output was computed"):
        reduce_recordings([tmp_path], to=tmp_path)
