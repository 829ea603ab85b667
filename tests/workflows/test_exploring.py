"""Functions of users under the explorer, and their traces in real time: what is told of what is not possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Origin, Step, Trace, Verdict
from omni_ipc.workflows.exploring import explore_scenario
from omni_ipc.workflows.replaying import On, replay

SOURCE = """
from omni_ipc.scenarios import Scenario

class World:
    def __init__(self, rt, parts):
        self.rt = rt

    def run(self):
        for task in [self.rt.spawn(int, name=name) for name in "ab"]:
            task.join()

def untold():
    return Scenario(name="own", world=World)

def told() -> Scenario:
    return untold()
"""


def test_a_function_that_makes_a_scenario_without_saying_so_is_told_how_to_go_on(tmp_path: Path) -> None:
    """It was called, and what it made was not run; where it says what it returns, that is explored."""
    file = tmp_path / "walked.py"
    file.write_text(SOURCE)
    report = explore_scenario(f"{file}:untold")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith(f"'{file}:untold' returns a Scenario, which was made, and not run.")
    assert f"omni-ipc conform {file}:untold" in report.reason
    assert explore_scenario(f"{file}:told").verdict is Verdict.HOLDS


def test_a_trace_without_regions_is_for_a_replay_under_control_only(tmp_path: Path) -> None:
    """Neither way in real time leads to the other in vain."""
    file = tmp_path / "mine.py"
    file.write_text("def both():\n    pass\n")
    trace = Trace(1, f"{file}:both", Origin.EXPLORED, (Step("main", "lock.acquire"),))
    with pytest.raises(UsageError, match=r"Use --on threads if it opens regions \(rt\.region\); else leave out --on"):
        replay(trace, on=On.PROCESSES)
    with pytest.raises(Inconclusive, match=r"has no regions, .* or replay it under control: leave out --on"):
        replay(trace, on=On.THREADS)
