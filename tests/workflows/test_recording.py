"""Recording a command: every Python process that comes of it, and nothing is changed in it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from omni_ipc.cli import interrupts
from omni_ipc.cli.record import record as record_command
from omni_ipc.conformance.recordings.sessions import load
from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.workflows.recording import children_recorded, record
from omni_ipc.workflows.validating import fitting_specs, validate_recordings
from tests.support.commands import Command
from tests.support.documents import DOCS
from tests.support.lanes import ROOT

RECORDING = Path(ROOT) / "spec" / "trace" / "ok" / "split_map"
ENGINE = """
import sys; sys.path.insert(0, {root!r})
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request
with Engine(EngineConfig(workers=2), PipelineSpec("omni_ipc.pipelines.synthetic:Synthetic", {{"nbytes": 8}})) as engine:
    engine.generate(Request("1"))
"""


def test_an_engine_and_its_workers_are_recorded_as_they_are(tmp_path: Path) -> None:
    """The command knows nothing of it, and finds omni_ipc only later than Python starts."""
    recorded = record([sys.executable, "-c", ENGINE.format(root=str(ROOT))], tmp_path / "log")
    assert (recorded.exit_code, len(recorded.files)) == (0, 3)
    (session,) = load([tmp_path / "log"])
    assert len(session.processes) == 3
    assert session.killed == ()
    actions = {step.action for step in session.steps}
    assert {"Engine.Admit", "Dispatcher.Send", "Worker.Announce", "Pump.Deliver", "Consumer.Wait"} <= actions


def test_the_exit_code_is_the_commands_and_who_customises_python_still_does(tmp_path: Path) -> None:
    """A sitecustomize of the user's runs as ever."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import builtins; builtins.theirs = 5")
    environment = {"PYTHONPATH": str(tmp_path / "site")}
    before = {name: os.environ.get(name) for name in environment}
    os.environ |= environment
    try:
        recorded = record([sys.executable, "-c", "raise SystemExit(theirs)"], tmp_path / "log")
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
    assert (recorded.exit_code, recorded.files) == (5, ())


def test_what_cannot_be_recorded_is_told(tmp_path: Path) -> None:
    """No command, one that does not exist, a folder that holds recordings already."""
    with pytest.raises(UsageError, match="There is nothing to record"):
        record([], tmp_path)
    with pytest.raises(UsageError, match="'no-such-command' cannot be started"):
        record(["no-such-command"], tmp_path)
    (tmp_path / "1-1.recording.jsonl").write_text("")
    with pytest.raises(UsageError, match=r"recordings of an earlier command.* --anew, or choose another .*--to DIR"):
        record([sys.executable, "-c", ""], tmp_path)


def test_recordings_of_before_make_room_if_that_is_asked_for(tmp_path: Path) -> None:
    """Those alone: what else lies in the folder stays."""
    (tmp_path / "1-1.recording.jsonl").write_text("")
    (tmp_path / "notes.txt").write_text("")
    assert record(["true"], tmp_path, anew=True).files == ()
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_a_command_that_opened_no_region_is_told_as_that(tmp_path: Path) -> None:
    """It may well have been a Python with omni_ipc."""
    with pytest.raises(Inconclusive, match=r"none opened a region \(rt\.region\) of a NativeRuntime, or none was"):
        record_command(["true"], to=tmp_path / "log")


def test_without_a_lens_no_spec_speaks_of_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken down all the same; who validates it is told to write one."""
    shutil.copytree(DOCS / "examples" / "own_spec" / "spec", tmp_path / "spec")
    shutil.rmtree(tmp_path / "spec" / "trace")
    monkeypatch.setenv("OMNI_IPC_SPEC", str(tmp_path / "spec"))
    assert fitting_specs([RECORDING]) == ()
    with pytest.raises(UsageError, match=r"lenses\.json': No such file.*/own-spec\.md, section 4"):
        validate_recordings([RECORDING], spec="RingBuffer")


def test_who_is_asked_to_end_asks_the_command(tmp_path: Path) -> None:
    """As a CI does that cancels: it reaches omni-ipc alone, and yet the command does not run on."""
    script = "import pathlib, time; pathlib.Path('begun').touch(); time.sleep(600)"
    with Command("record", "--", sys.executable, "-c", script, cwd=tmp_path) as command:
        command.terminate_when((tmp_path / "begun").exists)
        ended = command.end()
    assert "ended with exit code -15" in ended.err
    assert (ended.code, ended.survivors, ended.litter) == (3, [], [])


def test_ctrl_c_before_the_command_runs_keeps_it_from_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later it is the command's business; of one that came before, nobody else would hear."""
    monkeypatch.setattr(interrupts._interrupts, "is_noted", True)
    before = signal.signal(signal.SIGINT, interrupts._interrupts.note)
    try:
        with pytest.raises(KeyboardInterrupt):
            record_command(["touch", str(tmp_path / "begun")], to=tmp_path / "log")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not list(tmp_path.iterdir())


def test_recording_children_leaves_no_trace_of_itself(tmp_path: Path) -> None:
    """Environment and path are as they were before."""
    before = dict(os.environ), list(sys.path)
    with children_recorded(tmp_path):
        assert os.environ["OMNI_IPC_RECORD"] == str(tmp_path)
    assert (dict(os.environ), sys.path) == before
