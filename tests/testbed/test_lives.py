"""Who asks whether a task lives: once one does, tasks live on for a while behind their last step, as real ones do."""

from __future__ import annotations

import threading

import pytest

from omni_ipc.records import Verdict
from omni_ipc.seam.api import Task
from omni_ipc.testbed import ControlledRuntime, Stepper, explore, replay
from omni_ipc.testbed.faults.kill import Kill
from tests.testbed.kernels import found, outcomes


class Spool:
    """Its worker ends when there is nothing to do, and is started anew if it is found dead."""

    def __init__(self, rt: ControlledRuntime) -> None:
        self._rt = rt
        self._lock = rt.lock()
        self._todo: list[int] = []
        self._worker: Task | None = None
        self.done: list[int] = []

    def submit(self, item: int) -> None:
        """Leave an item to the worker."""
        with self._lock:
            self._todo.append(item)
        if self._worker is None or not self._worker.is_alive():
            self._worker = self._rt.spawn(self.work, name=f"worker {item}")

    def join(self) -> None:
        """Wait for the end of the worker."""
        if self._worker is not None:
            self._worker.join()

    def work(self) -> None:
        """Do what there is to do."""
        while True:
            with self._lock:
                if not self._todo:
                    return
                self.done.append(self._todo.pop())


def spooled(rt: ControlledRuntime, *, careful: bool) -> list[int]:
    """Hand two items to a worker, one after the other; whoever is careful does what it has left."""
    spool = Spool(rt)
    for item in (1, 2):
        spool.submit(item)
    spool.join()
    if careful:
        spool.work()
    if len(spool.done) != 2:
        raise ValueError(f"done: {spool.done}")
    return spool.done


def test_work_that_is_handed_to_a_task_that_is_about_to_end_is_lost() -> None:
    """It was found alive, and took nothing any more; nothing is lost on who looks again once it has ended."""
    report = found(lambda rt: spooled(rt, careful=False), declared=True)
    assert report.failure is not None
    assert report.failure.message == "ValueError: done: [1]"
    assert report.trace is not None
    assert report.trace.points == ("is_alive",)
    assert "task.end" in [step.action for step in report.trace.steps]
    assert outcomes(lambda rt: spooled(rt, careful=True)) == {"[1, 2]", "[2, 1]"}


def test_a_task_and_a_process_live_on_for_a_while_after_their_last_step() -> None:
    """They may have done all that they do, and live; or be killed by then, although all is done."""

    def of_a_task(rt: ControlledRuntime) -> tuple[bool, bool]:
        done = rt.event()
        task = rt.spawn(done.set, name="worker")
        return done.is_set(), task.is_alive()

    def of_a_process(rt: ControlledRuntime) -> tuple[bool, bool]:
        done, process = rt.event(), rt.process("worker")
        process.spawn(done.set, name="worker.main")
        return done.is_set(), process.is_alive()

    def of_its_end(rt: ControlledRuntime) -> tuple[bool, str | None]:
        done, process = rt.event(), rt.process("worker")
        process.spawn(done.set, name="worker.main")
        return done.is_set(), process.ending()

    every = {"(False, False)", "(False, True)", "(True, False)", "(True, True)"}
    assert outcomes(of_a_task) == outcomes(of_a_process) == every
    ended, killed = "'it ended with exit status 0'", "'killed by SIGKILL'"
    assert outcomes(of_its_end) == {f"({done}, {end})" for done in (True, False) for end in (None, ended)}
    report = explore(of_its_end, declared=True, faults=[Kill("worker")])
    assert {f"(True, {end})" for end in (None, ended, killed)} < {*report.outcomes}


def test_tasks_that_are_counted_are_told_apart_as_threads_are() -> None:
    """How many live depends on who has ended, whoever has started them."""

    def scenario(rt: ControlledRuntime) -> tuple[bool, int]:
        done = rt.event()
        rt.spawn(done.set, name="worker")
        return done.is_set(), threading.active_count()

    assert outcomes(scenario) == {f"({done}, {count})" for done in (False, True) for count in (1, 2)}


@pytest.mark.parametrize("timeout", [None, 1.0])
def test_who_has_waited_for_the_end_of_a_task_learns_nothing_by_asking(timeout: float | None) -> None:
    """Then it has ended in every schedule, and a step for its end would tell nothing apart."""

    def scenario(rt: ControlledRuntime) -> bool:
        task = rt.spawn(rt.event().set, name="worker")
        task.join(timeout)
        return task.is_alive()

    report = explore(scenario, declared=True)
    assert (report.verdict, report.outcomes, report.begun_anew) == (Verdict.HOLDS, ("False",), 0)


def test_a_walk_and_a_trace_of_before_have_no_step_for_the_end_of_a_task() -> None:
    """What was recorded before anybody asked replays step for step; a model's steps are those of functions."""

    def scenario(rt: ControlledRuntime) -> None:
        done = rt.event()
        task = rt.spawn(done.set, name="worker")
        done.wait()
        assert task.is_alive(), "ended with its last step"

    with Stepper(scenario) as stepper:
        for task in ("main", "worker", "main"):
            stepper.take(task)
        assert [offer.action for offer in stepper.offers()] == ["task.is_alive"]
    report = explore(scenario, declared=True)
    assert report.trace is not None
    assert (report.trace.points, report.failure) == ((), report.trace.failure)
    again = replay(scenario, report.trace)
    assert (again.diverged, again.failure) == (None, report.failure)
