"""The recording runtime: every region of a process, in a file of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from omni_ipc.seam.recording import RecordingRuntime


def read(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_each_region_is_one_line_with_task_fields_and_times(tmp_path: Path) -> None:
    """Task, action and fields as the code says them; begin before end; sequence numbers without a gap."""
    rt = RecordingRuntime(tmp_path / "log")
    lock = rt.lock()

    def body() -> None:
        with rt.region("Pump.Deliver", lock, output="a", holding=True):
            assert lock.locked()  # type: ignore[attr-defined]

    tasks = [rt.spawn(body, name=name) for name in ("one", "two")]
    for task in tasks:
        task.join()
    rt.close()
    lines = read(tmp_path / "log")
    assert [line["sequence"] for line in lines] == [0, 1]
    assert {line["task"] for line in lines} == {"one", "two"}
    for line in lines:
        assert (line["action"], line["fields"]) == ("Pump.Deliver", {"output": "a", "holding": True})
        assert line["begin"] <= line["end"]  # type: ignore[operator]
        assert "error" not in line


def test_a_region_that_fails_is_recorded_with_its_error_and_raises(tmp_path: Path) -> None:
    """The error passes through, the lock is given back, and the line names the error."""
    rt = RecordingRuntime(tmp_path / "log")
    lock = rt.lock()
    with pytest.raises(KeyError), rt.region("Pump.Deliver", lock):
        raise KeyError("b")
    assert lock.acquire(blocking=False)
    rt.close()
    assert [line["error"] for line in read(tmp_path / "log")] == ["KeyError"]
