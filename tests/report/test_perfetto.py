"""A trace for Perfetto's viewer."""

from __future__ import annotations

import json
from pathlib import Path

from omni_ipc.report.perfetto import events, write_events
from omni_ipc.testbed.explain import explain
from tests.report.test_text import LOST_UPDATE


def of_phase(phase: str) -> list[dict[str, object]]:
    return [event for event in events(explain(LOST_UPDATE))["traceEvents"] if event["ph"] == phase]


def test_tasks_are_threads_and_steps_are_slices_that_do_not_overlap() -> None:
    """In their order, each on the thread of its task."""
    threads = {event["tid"]: event["args"]["name"] for event in of_phase("M") if event["name"] == "thread_name"}  # type: ignore[index]
    slices = of_phase("X")
    assert [threads[event["tid"]] for event in slices] == ["alice", "noise", "noise", "bob", "alice"]
    ends = [event["ts"] + event["dur"] for event in slices]  # type: ignore[operator]
    assert all(end <= after["ts"] for end, after in zip(ends, slices[1:], strict=False))  # type: ignore[operator]
    assert slices[3]["args"]["writes till.total"] == "2"  # type: ignore[index]
    assert slices[3]["args"]["why another task"] == "'alice' could have gone on with field.write"  # type: ignore[index]


def test_each_arrow_begins_and_ends_inside_a_slice() -> None:
    """Switches, and conflicts between steps that matter; the viewer drops an arrow without a slice at its end."""
    begins, ends = of_phase("s"), of_phase("f")
    assert [event["id"] for event in begins] == [event["id"] for event in ends]
    assert sum(event["cat"] == "switch" for event in begins) == 3
    assert any(event["cat"] == "conflict" for event in begins)
    places = {(event["tid"], event["ts"]) for event in of_phase("X")}
    assert {(event["tid"], event["ts"]) for event in (*begins, *ends)} <= places


def test_the_failure_stands_at_the_end(tmp_path: Path) -> None:
    """As a mark across all threads; and the file is JSON."""
    written = json.loads(write_events(explain(LOST_UPDATE), tmp_path / "trace.json").read_text())
    (mark,) = [event for event in written["traceEvents"] if event["ph"] == "i"]
    assert mark["name"].startswith("exception: AssertionError: 1")
    assert mark["s"] == "p"
