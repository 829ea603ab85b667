"""Scenarios that are not as they should be: a clear sentence each, and nothing of them in the process afterwards."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omni_ipc.records import FailureKind, Verdict
from omni_ipc.testbed import ControlledRuntime, explore, replay
from tests.testbed.kernels import and_join


@pytest.mark.parametrize("strategy", ["portfolio", "random"])
def test_of_a_scenario_of_one_task_nothing_is_concluded(strategy: str) -> None:
    """There is nothing to interleave; with a second task, nothing is said."""

    def alone(rt: ControlledRuntime) -> None:
        rt.queue().put(1)

    report = explore(alone, strategy=strategy, runs=5)
    assert (report.verdict, report.verdict.exit_code) == (Verdict.INCONCLUSIVE, 3)
    assert report.reason.startswith("Only one task ran, so there was nothing to interleave, and nothing was concluded.")
    assert explore(lambda rt: and_join(rt, rt.event().set)).verdict is Verdict.HOLDS


async def nothing_more() -> None:
    """Hand the turn on, to nobody."""
    await asyncio.sleep(0)


async def two_at_once() -> None:
    """Be two tasks of one loop."""
    await asyncio.gather(nothing_more(), nothing_more())


@pytest.mark.parametrize(
    "scenario",
    [lambda: threading.Lock().acquire(), lambda: asyncio.run(nothing_more())],
    ids=["plain", "one coroutine"],
)
def test_of_a_scenario_that_starts_no_thread_nothing_is_concluded_either(scenario: Callable[[], object]) -> None:
    """Without a runtime it is the same, also in an event loop."""
    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "Only one task ran" in report.reason


def test_tasks_of_one_event_loop_are_not_alone() -> None:
    """They come in the one order that asyncio promises, and that one is looked at."""
    assert explore(lambda: asyncio.run(two_at_once())).verdict is Verdict.HOLDS


def test_a_task_that_a_fault_may_come_upon_is_not_alone() -> None:
    """It wakes up in time or spuriously, and both are looked at."""

    def alone(rt: ControlledRuntime) -> None:
        condition = rt.condition(rt.lock())
        with condition:
            condition.wait(1.0)

    report = explore(alone, faults=["spurious"])
    assert (report.verdict, report.traces) == (Verdict.HOLDS, 2)


def test_what_one_task_raises_is_found_all_the_same() -> None:
    """A fault is one however many tasks there are."""

    def wrong() -> None:
        raise ValueError("alone")

    assert explore(wrong).verdict is Verdict.VIOLATED


def test_what_a_scenario_prints_is_not_shown_but_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Not a line a schedule; a replay, which is one schedule, shows it."""

    def scenario(rt: ControlledRuntime) -> None:
        def say(name: str) -> None:
            rt.queue().put(name)
            print(f"hello from {name}")
            sys.stderr.writelines(["an error", "\n"])

        and_join(rt, lambda: say("a"), lambda: say("b"))
        raise AssertionError

    report = explore(scenario)
    assert capsys.readouterr() == ("", "")
    assert report.notes == (
        "The scenario prints in each schedule, 'hello from a' first; that is not shown. A replay shows it.",
    )
    assert report.trace is not None
    replay(scenario, report.trace)
    assert capsys.readouterr() == ("hello from a\nhello from b\n", "an error\nan error\n")


@pytest.fixture
def left_open() -> Iterator[list[int]]:
    """Close what a scenario has left open."""
    descriptors: list[int] = []
    yield descriptors
    for descriptor in descriptors:
        os.close(descriptor)


def test_descriptors_that_a_scenario_leaves_open_are_told(left_open: list[int], tmp_path: Path) -> None:
    """With what they lead to; the verdict is about schedules, and stays."""

    def scenario(rt: ControlledRuntime) -> None:
        rt.event().set()
        left_open.append(os.open(tmp_path, os.O_RDONLY))

    report = explore(scenario, declared=True, runs=1)
    assert [note for note in report.notes if "left descriptors open" in note and str(tmp_path) in note]


def test_a_scenario_that_raises_in_its_set_up_has_failed() -> None:
    """Before any task was started: the line is told, and the exit code is that of a failure."""

    def scenario(rt: ControlledRuntime) -> None:
        Path("/nowhere/at/all").read_text()

    report = explore(scenario)
    assert report.failure is not None
    assert (report.failure.kind, report.verdict.exit_code) == (FailureKind.EXCEPTION, 1)
    assert "No such file or directory: '/nowhere/at/all'" in report.failure.message
    assert "in scenario" in str(report.failure.where)


@pytest.mark.parametrize(
    ("end", "named"),
    [
        (lambda: os._exit(0), "os._exit"),
        (lambda: os.fork(), "os.fork"),
        (lambda: sys.exit(3), "SystemExit: 3"),
    ],
)
def test_a_scenario_that_would_end_or_double_the_process_does_not(end: object, named: str) -> None:
    """It is named instead; sys.exit() in a task is an exception like any other."""

    def scenario(rt: ControlledRuntime) -> None:
        and_join(rt, end)  # type: ignore[arg-type]

    before = os.getpid()
    report = explore(scenario)
    assert os.getpid() == before
    assert report.verdict in (Verdict.INCONCLUSIVE, Verdict.VIOLATED)
    assert report.verdict.exit_code in (1, 3)
    assert named in report.reason
