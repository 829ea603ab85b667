"""Reading recordings: what is whole is read, what is not is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from omni_ipc.conformance.models.manifest import find_folder
from omni_ipc.conformance.models.manifest import load as load_manifest
from omni_ipc.conformance.recordings.lens import find_lens
from omni_ipc.conformance.recordings.looking import look
from omni_ipc.conformance.recordings.sessions import load
from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.seam.recording import recorded
from tests.support.recordings import cut_inside, doctored

OK = find_folder() / "trace" / "ok" / "split_map"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A recording of an engine and its worker, to be spoilt."""
    return shutil.copytree(OK, tmp_path / "copy")


def worker_of(folder: Path) -> Path:
    """The file of the worker's process."""
    return next(path for path in sorted(folder.iterdir()) if "hosted" in path.read_text().partition("\n")[0])


def test_an_engine_and_its_workers_are_one_session() -> None:
    """They share memory; the steps of both are there, in the order in which they began, with what they changed."""
    (session,) = load([OK])
    assert len(session.processes) == 2
    assert (session.killed, session.doubles) == ((), ())
    begins = [step.begin_ns for step in session.steps]
    assert begins == sorted(begins)
    by_action = {step.action: step for step in session.steps}
    announced, taken = by_action["Worker.Announce"], by_action["Pump.TakeSplit"]
    assert announced.process != taken.process
    assert announced.fields == {"output": "1"}
    assert taken.looked == ("OutputTable",)
    assert taken.changes["OutputTable", "_unsplit"].came == ("1",)
    inside = {step.inside_of for step in session.steps if step.action == "Writer.Publish"}
    assert ("Worker.Announce",) in inside
    assert "Writer.Publish" in {step.action for step in announced.inner}


def test_who_looks_at_another_runtimes_object_is_in_its_session(tmp_path: Path) -> None:
    """One runtime watches it, and a region of another one changes it."""

    class Table:
        entries = 0

    with recorded(tmp_path):
        watching, acting, table = NativeRuntime(), NativeRuntime(), Table()
        lock = watching.lock()
        watching.watch(table, lock, name="Table")
        with acting.region("Table.Put", lock):
            table.entries = 5
    (session,) = load([tmp_path])
    assert (session.fields, len(session.steps)) == ({"Table": frozenset({"entries"})}, 1)


def test_what_does_not_share_memory_are_several_sessions(tmp_path: Path) -> None:
    """Two engines that know nothing of each other are looked at one by one."""
    other = find_folder() / "trace" / "ok" / "future_orphan"
    assert len(load([OK, other])) == 2


def rewritten(path: Path, pid: int, parent: int) -> None:
    """Write beside a file what another process would have written that watches the same, and takes no step."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["kind"] not in ("begun", "ended", "closed")]
    rows[0] |= {"pid": pid, "parent": parent}
    (path.parent / f"{pid}-1.recording.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_worker_that_dies_before_its_first_step_is_one_of_the_session(tmp_path: Path) -> None:
    """Else an engine of two would pass for one of one; what a fork has copied is no second engine."""
    folder = shutil.copytree(OK.parent / "late_answers", tmp_path / "copy")
    (alone,) = load([folder])
    worker = worker_of(folder)
    (engine,) = (path for path in folder.iterdir() if path != worker)
    engine_pid = json.loads(engine.read_text().partition("\n")[0])["pid"]
    rewritten(engine, pid=2, parent=engine_pid)
    (forked,) = load([folder])
    assert (alone.doubles, forked.doubles, len(forked.processes)) == ((), (), 2)
    (torn,) = load([path for path in folder.iterdir() if path != worker])
    assert torn.unshared
    rewritten(worker, pid=3, parent=engine_pid)
    (session,) = load([folder])
    assert (session.doubles, len(session.processes), len(session.steps)) == (("InFlight",), 3, len(alone.steps))
    assert look(session, *find_lens("StaleReply", load_manifest())).left_out == {"": "several InFlight"}


def test_memory_of_which_one_process_alone_tells_is_told() -> None:
    """The other one's recording is missing; what a fork has copied is no other one's."""
    (whole,) = load([OK])
    (alone,) = load([path for path in OK.iterdir() if path != worker_of(OK)])
    assert (whole.unshared, len(alone.processes)) == ((), 1)
    assert alone.unshared


def test_a_recording_that_is_given_twice_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its folder and by its name, however that is written."""
    (once,) = load([OK])
    monkeypatch.chdir(OK.parent)
    (session,) = load([OK, OK / ".." / OK.name, Path(OK.name), *OK.iterdir()])
    assert len(session.processes) == len(once.processes)


def test_a_process_without_a_last_line_was_killed(tmp_path: Path) -> None:
    """Also in the middle of a line; the region that it was in has no end."""
    folder = doctored(OK, tmp_path / "cut", cut_inside("Worker.Announce"))
    worker = worker_of(folder)
    worker.write_text(worker.read_text() + '{"kind":"ended","thr')
    (session,) = load([folder])
    (announced,) = (step for step in session.steps if step.action == "Worker.Announce")
    assert session.killed == (announced.process,)
    assert announced.end_ns is None


@pytest.mark.parametrize("place", [2, -2])
def test_a_gap_is_told_with_its_thread_and_line(copy: Path, place: int) -> None:
    """A line that is missing in the middle, and one that is missing near the end."""
    worker = worker_of(copy)
    lines = worker.read_text().splitlines(keepends=True)
    missing = json.loads(lines.pop(place))
    worker.write_text("".join(lines))
    said = rf"thread {missing['thread']} lacks line {missing['number']}\." if place > 0 else "has a gap: .* lines of"
    with pytest.raises(Inconclusive, match=said):
        load([copy])


def test_what_is_no_recording_is_told(copy: Path, tmp_path: Path) -> None:
    """An empty file, damaged lines, another program's log, another version, an empty folder, no file at all."""
    worker = worker_of(copy)
    text = worker.read_text()
    first, rest = text.split("\n", 1)
    for spoilt, error, said in [
        ("", Inconclusive, "is empty"),
        (text.replace('"kind":"ended"', '"kind":"ender"', 1), Inconclusive, "is damaged in line"),
        (rest, Inconclusive, "its first line is missing"),
        ("127.0.0.1 - GET /\n", UsageError, "is no recording"),
        (first.replace('"version":1', '"version":7') + "\n" + rest, UsageError, "has version 7"),
        (text.replace('"looked":[1]', '"looked":[7]', 1), Inconclusive, "is damaged: step .* looked at object 7"),
        (text.replace('"number":1,', '"number":0,', 1), Inconclusive, "has line 0 twice|lacks line"),
    ]:
        worker.write_text(spoilt)
        with pytest.raises(error, match=said):
            load([copy])
    (tmp_path / "nothing").mkdir()
    with pytest.raises(UsageError, match="There is no recording in"):
        load([tmp_path / "nothing"])
    with pytest.raises(UsageError, match="Cannot read"):
        load([tmp_path / "missing.recording.jsonl"])
