"""Explorations while somebody traces: the same verdicts, and lines that are true, or said not to be."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from omni_ipc.records import Report
from omni_ipc.testbed import explore
from tests.support.commands import ROOT

EXPLORED = textwrap.dedent("""
    import threading

    from omni_ipc.testbed import explore


    class Counter:
        def __init__(self):
            self.value = 0
            self.lock = threading.Lock()

        def add(self):
            with self.lock:
                self.value += 1
            if self.value > 2:
                self.value = 0  # never
            return self.value


    def scenario():
        counter = Counter()
        threads = [threading.Thread(target=counter.add) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counter.value == 2


    report = explore(scenario)
    print(report.verdict, report.schedules, report.traces, len(report.notes))
""")
NEVER = next(number for number, line in enumerate(EXPLORED.splitlines(), start=1) if line.endswith("# never"))


class Counter:
    """Loses updates."""

    def __init__(self) -> None:
        self.value = 0

    def add(self) -> int:
        seen = self.value
        self.value = seen + 1
        return self.value


def scenario() -> None:
    """Two threads that add."""
    counter = Counter()
    threads = [threading.Thread(target=counter.add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 2


def test_under_a_tracer_the_same_is_found_and_each_line_is_seen() -> None:
    """As a debugger has one: it stays set, and sees the lines of all tasks."""
    plain = explore(scenario)
    seen: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if (frame.f_code.co_filename, frame.f_code.co_name) == (__file__, "add"):
            seen.add((event, frame.f_lineno - frame.f_code.co_firstlineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        traced = explore(scenario)
        kept = sys.gettrace()
    finally:
        sys.settrace(before)
    assert _essence(traced) == _essence(plain)
    assert kept is trace
    assert {line for event, line in seen if event == "line"} == {1, 2, 3}


def test_a_coverage_that_takes_tasks_for_one_stack_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines are not true then; with greenlets it is told nothing, nor where it does not trace."""
    options = {"run:concurrency": ["thread"]}
    current = SimpleNamespace(get_option=options.get)
    monkeypatch.setitem(sys.modules, "coverage", SimpleNamespace(Coverage=SimpleNamespace(current=lambda: current)))  # type: ignore[arg-type]
    before = sys.gettrace()
    assert before is not None or explore(scenario).notes == ()
    sys.settrace(lambda *_: None)
    try:
        (note,) = explore(scenario).notes
        options["run:concurrency"] = ["thread", "greenlet"]
        assert explore(scenario).notes == ()
    finally:
        sys.settrace(before)
    assert note.endswith('Tell it so: concurrency = ["thread", "greenlet"] under [tool.coverage.run].')


@pytest.mark.parametrize(("concurrency", "notes"), [("thread", 1), ("thread,greenlet", 0)])
def test_under_coverage_the_verdict_is_the_same_and_the_lines_are_true_or_said_not_to_be(
    concurrency: str, notes: int, tmp_path: Path
) -> None:
    """coverage.py itself, with its tracer of each kind."""
    pytest.importorskip("coverage", reason="coverage.py is not installed: pip install coverage")
    (tmp_path / "explored.py").write_text(EXPLORED)
    run = [sys.executable, "-m", "coverage", "run", "--include=*/explored.py", f"--concurrency={concurrency}"]
    own = {"PYTHONPATH": ":".join([str(ROOT), *sys.path]), "COVERAGE_CORE": "ctrace"}
    done = subprocess.run([*run, "explored.py"], cwd=tmp_path, env=own, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "holds"
    assert done.stdout.split()[-1] == str(notes)
    if not notes:
        report = [sys.executable, "-m", "coverage", "report", "-m"]
        shown = subprocess.run(report, cwd=tmp_path, env=own, capture_output=True, text=True, check=True)
        assert re.search(rf"^explored\.py +\d+ +1 +\d+% +{NEVER}$", shown.stdout, re.MULTILINE)


def _essence(report: Report) -> tuple[object, ...]:
    assert report.trace is not None
    return report.verdict, report.schedules, report.traces, report.trace.steps
