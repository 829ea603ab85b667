"""Traces as tests: a team's collection of past races."""

from __future__ import annotations

from pathlib import Path

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import Trace
from omni_ipc.workflows.exploring import explore_scenario
from omni_ipc.workflows.replaying import replay
from tests.pytest_plugin.session import session

RACE = """
import threading

def twice():
    counts = [0]
    def add():
        counts[0] += 1
    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts[0] == 2, "an update was lost"
"""
MENDED = RACE.replace("    def add():\n", "    lock = threading.Lock()\n    def add():\n").replace(
    "        counts[0] += 1\n", "        with lock:\n            counts[0] += 1\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two past races, and the setting that collects them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nomni_ipc_traces = bugs\naddopts = -p no:cacheprovider\n")
    (tmp_path / "mine.py").write_text(RACE)
    for scenario, defect in (("mine.py:twice", None), ("future_orphan", "unpack_outside_lock")):
        trace = explore_scenario(scenario, defect=defect, strategy="portfolio").trace
        assert trace is not None
        trace.save(tmp_path / "bugs" / f"{defect or 'twice'}.trace.json")
    return tmp_path


def test_a_race_that_is_back_fails_and_one_that_is_mended_passes(folder: Path) -> None:
    """The product's race shows with its defect and not on the reference; one's own must not show at all."""
    ended = session(folder, "bugs", "-v")
    assert ended.counts == {"passed": 2, "failed": 1}, ended.text
    assert "bugs/unpack_outside_lock.trace.json::reference PASSED" in ended.text
    assert "bugs/unpack_outside_lock.trace.json::unpack_outside_lock PASSED" in ended.text
    assert "bugs/twice.trace.json::twice FAILED" in ended.text
    assert "twice.trace.json: the race is back: exception: AssertionError: an update was lost" in ended.text
    (folder / "mine.py").write_text(MENDED)
    assert session(folder, "bugs").counts == {"passed": 3}


def test_a_trace_of_a_marked_test_is_left_to_it(folder: Path) -> None:
    """It is skipped, with the command that replays it; the command line says the same."""
    trace = folder / "bugs" / "twice.trace.json"
    trace.write_text(trace.read_text().replace('"mine.py:twice"', '"test_mine.py::test_twice"'))
    ended = session(folder, "bugs", "-rs")
    assert ended.counts == {"passed": 2, "skipped": 1}, ended.text
    assert "pytest 'test_mine.py::test_twice' --omni-replay" in ended.text
    with pytest.raises(UsageError, match=r"is a test, and run by pytest, .*: pytest .test_mine"):
        replay(Trace.load(trace))


def test_what_is_no_trace_or_lies_elsewhere_is_not_run(folder: Path) -> None:
    """A damaged file is an error that names it; outside of the setting only what is named is run."""
    (folder / "elsewhere").mkdir()
    (folder / "bugs" / "twice.trace.json").rename(folder / "elsewhere" / "twice.trace.json")
    (folder / "bugs" / "broken.trace.json").write_text('{"format": ')
    ended = session(folder, "--continue-on-collection-errors")
    assert ended.counts == {"passed": 2, "error": 1}, ended.text
    assert "broken.trace.json' is not whole JSON" in ended.text
    named = session(folder, "elsewhere/twice.trace.json")
    assert named.counts == {"failed": 1}, named.text
