"""Explorations whose jobs run on machines that may be lost."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.machines import LocalMachines, Said
from omni_ipc.records import Verdict
from omni_ipc.testbed import explore
from omni_ipc.workflows.exploring import explore_scenario
from tests.support.commands import Command
from tests.testbed.test_strategies import many_orders


class Losing(LocalMachines):
    """Two places, of which the first loses its program each time that this has said something, so often."""

    def __init__(self, times: int) -> None:
        super().__init__(2)
        self._left = times

    def wait(self, timeout_s: float) -> None:
        super().wait(timeout_s)
        running = self._running.get(0)
        if (
            self._left
            and running is not None
            and any(isinstance(event, Said) and event.shard == 0 for event in self.heard)
        ):
            self._left -= 1
            running.process.kill()


def test_a_job_that_is_lost_is_done_anew() -> None:
    """So the orders seen are those that one process sees, each run counted once."""
    alone = explore(many_orders, strategy="random", runs=2_000, seed=2)
    with contextlib.closing(Losing(2)) as machines:
        shared = explore(many_orders, strategy="random", runs=2_000, seed=2, on=machines)
    assert (shared.schedules, shared.traces, shared.outcomes) == (2_000, alone.traces, alone.outcomes)


def test_a_job_that_is_lost_too_often_makes_it_inconclusive() -> None:
    """It is told how it was lost."""
    expected = r"Job 1 of 2 was lost, at the last of 3 attempts: its process was ended by SIGKILL\. See to"
    with contextlib.closing(Losing(3)) as machines, pytest.raises(Inconclusive, match=expected):
        explore(many_orders, strategy="random", runs=2_000, seed=2, on=machines)


def test_machines_are_named_in_a_call() -> None:
    """There are as many jobs as places, if no number is given, and not more."""
    report = explore_scenario("split_map", strategy="random", runs=50, on="local:3")
    assert report.verdict is Verdict.BOUNDED
    assert report.reason.endswith("(in 3 jobs)")
    with pytest.raises(UsageError, match=r"jobs is 4, and the machines have places for 3\. Give fewer\."):
        explore_scenario("split_map", runs=50, jobs=4, on="local:3")


def test_saved_explorations_are_for_this_machine(tmp_path: Path) -> None:
    """Elsewhere the folder would be another."""
    with pytest.raises(UsageError, match="Leave out --resume, or --on"):
        explore_scenario("split_map", on="local:2", resume=tmp_path)


def test_a_file_of_ones_own_is_explored_on_machines(tmp_path: Path) -> None:
    """Its path may be relative; the failure is told as if it had been found here, and its trace replays."""
    (tmp_path / "own.py").write_text(
        "def lost(rt):\n"
        "    seen = rt.watched(value=0)\n"
        "    def add():\n"
        "        seen.value = seen.value + 1\n"
        "    tasks = [rt.spawn(add) for _ in range(2)]\n"
        "    for task in tasks:\n"
        "        task.join()\n"
        "    assert seen.value == 2\n"
    )
    with Command("explore", "own.py:lost", "--on", "local:2", "--save", "traces", cwd=tmp_path) as command:
        ended = command.end()
    assert (ended.code, ended.survivors) == (1, [])
    with Command("replay", "traces/own.lost.trace.json", cwd=tmp_path) as command:
        assert command.end().code == 1


def test_ctrl_c_ends_the_jobs(tmp_path: Path) -> None:
    """None of them survives, wherever it runs."""
    with Command("explore", "split_map", "--seconds", "60", "--on", "local:2", cwd=tmp_path) as command:
        command.interrupt_when(lambda: command.started("omni_ipc.testbed.job"))
        ended = command.end()
    assert ended.code == 3
    assert "Interrupted: nothing was concluded" in ended.err
    assert (ended.survivors, ended.litter) == ([], [])
