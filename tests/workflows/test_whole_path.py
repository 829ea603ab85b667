"""Real engines with their workers, recorded as they are, against AsyncOutput: each step of them, and each outcome."""

from __future__ import annotations

import sys
from pathlib import Path

from omni_ipc.conformance.recordings.validate import Answer
from omni_ipc.workflows.recording import record
from omni_ipc.workflows.validating import validate_recordings
from tests.support.lanes import ROOT
from tests.support.recordings import doctored, without

ENGINE = f"""
import os, signal, sys; sys.path.insert(0, {str(ROOT)!r})
from omni_ipc.errors import OmniError
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request
pipeline = PipelineSpec("omni_ipc.pipelines.synthetic:Synthetic", {{"nbytes": 8}})
with Engine(EngineConfig(max_batch=2), pipeline) as engine:
    engine.generate(Request("first"))
    streams = [engine.submit(Request(str(number))) for number in range(6)]
    engine.abort("4", "5")
    if sys.argv[1:] == ["kill"]:
        os.kill(engine.pids[0], signal.SIGKILL)
    for stream in streams:
        try:
            stream.result()
        except OmniError:
            pass
"""


def test_what_an_engine_and_its_worker_do_is_a_behaviour_of_the_whole_path(tmp_path: Path) -> None:
    """With batches, aborts and a shutdown, and with a worker that is killed; one that skips a step is rejected."""
    for name, arguments in {"well": [], "killed": ["kill"]}.items():
        recorded = record([sys.executable, "-c", ENGINE, *arguments], tmp_path / name)
        assert (recorded.exit_code, len(recorded.files)) == (0, 2)
    doctored(tmp_path / "well", tmp_path / "skipped", without("Worker.HandOver"))
    validated = validate_recordings([tmp_path], spec="AsyncOutput")
    by_name = {Path(session.files[0]).parent.name: session for session in validated.sessions}
    assert {name: session.answer for name, session in by_name.items()} == {
        "well": Answer.ACCEPTED,
        "killed": Answer.ACCEPTED,
        "skipped": Answer.REJECTED,
    }
    assert by_name["well"].leaving == by_name["killed"].leaving == {}
    assert len(by_name["killed"].killed) == 1
    never = {action for action, count in validated.coverage.actions.items() if not count}
    assert never <= {"DispatcherForget", "ConsumerDrop", "WorkerDrain", "DispatcherAbandon", "DispatcherExpect"}
    rejection = by_name["skipped"].rejection
    assert rejection is not None
    assert "WorkerReply(rpc=1)" in {refused.step.partition(" of ")[0] for refused in rejection.refused}
