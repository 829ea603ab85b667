"""Runs that cannot go on, or go on for nothing: each is named for what it is, with who waits for what."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Iterator

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import FailureKind, Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from tests.testbed.kernels import and_join, found, philosophers


def test_two_philosophers_deadlock() -> None:
    """The cycle is told: who waits for which lock, and who holds it, at which line."""
    failure = found(philosophers).failure
    assert failure is not None
    assert failure.kind is FailureKind.DEADLOCK
    assert "'a' waits for lock2, which 'b' holds" in failure.message
    assert "'b' waits for lock1, which 'a' holds" in failure.message
    assert len(failure.details) == 2
    assert all("kernels.py" in line for line in failure.details)


def test_philosophers_that_agree_on_an_order_dine() -> None:
    """The fixed twin holds."""

    def scenario(rt: ControlledRuntime) -> None:
        left, right = rt.lock(), rt.lock()

        def dine() -> None:
            with left, right:
                pass

        and_join(rt, dine, dine)

    assert explore(scenario).verdict == "holds"


def test_a_deadlock_of_some_is_found_while_others_go_on() -> None:
    """A cycle of locks is a failure at the moment it closes, whatever a third task does with its timers."""

    def scenario(rt: ControlledRuntime) -> None:
        stopped = rt.event()

        def tick() -> None:
            while not stopped.wait(timeout=1.0):
                pass

        rt.spawn(tick, name="ticker")
        philosophers(rt)
        stopped.set()

    failure = found(scenario).failure
    assert failure is not None
    assert failure.kind is FailureKind.DEADLOCK


def test_a_deadlock_of_regions_is_a_deadlock() -> None:
    """Regions with locks wait for each other as plain locks do."""

    def scenario(rt: ControlledRuntime) -> None:
        left, right = rt.lock(), rt.lock()

        def dine(first: object, second: object) -> None:
            with first, rt.region("Dine", second):  # type: ignore[attr-defined,arg-type]
                pass

        and_join(rt, lambda: dine(left, right), lambda: dine(right, left))

    failure = found(scenario).failure
    assert failure is not None
    assert failure.kind is FailureKind.DEADLOCK


def test_a_task_that_joins_one_that_waits_for_its_lock_is_deadlocked() -> None:
    """Ends of tasks count as locks that they hold."""

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()

        def enter() -> None:
            with lock:
                pass

        task = rt.spawn(enter, name="child")
        with lock:
            task.join()

    failure = found(scenario).failure
    assert failure is not None
    assert failure.kind is FailureKind.DEADLOCK
    assert "the end of 'child'" in failure.message


def test_a_lock_that_is_taken_twice_is_a_deadlock_with_oneself() -> None:
    """A plain lock is not reentrant."""

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()
        with lock, lock:
            pass

    failure = found(scenario).failure
    assert failure is not None
    assert failure.kind is FailureKind.DEADLOCK
    assert failure.message == "'main' waits for lock1, which 'main' holds"


def test_a_notification_before_the_wait_is_lost() -> None:
    """A wait that does not look at the state first may sleep for ever."""

    def scenario(rt: ControlledRuntime) -> None:
        ready = rt.condition()

        def notify() -> None:
            with ready:
                ready.notify()

        def wait() -> None:
            with ready:
                ready.wait()

        and_join(rt, notify, wait)

    failure = found(scenario).failure
    assert failure is not None
    assert failure.kind is FailureKind.LOST_WAKEUP
    assert failure.task == "b"
    assert failure.message.startswith("'b' waits for a notification of condition2")
    assert "in wait" in str(failure.where)


def test_a_waiter_is_stuck_though_others_poll() -> None:
    """Timers that fire for nothing do not hide that somebody waits for ever."""

    def scenario(rt: ControlledRuntime) -> None:
        inbox = rt.queue()
        never = rt.future()

        def poll() -> None:
            while True:
                try:
                    inbox.get(timeout=0.1)
                except queue.Empty:
                    continue

        rt.spawn(poll, name="poller")
        never.result()

    report = found(scenario)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.LOST_WAKEUP
    assert report.failure.task == "main"
    assert report.trace is not None
    assert len(report.trace.steps) < 10


def test_a_far_deadline_comes_in_spite_of_a_poller() -> None:
    """A wait of ten minutes beside a poll ten times a second ends, and in its own time."""

    def scenario(rt: ControlledRuntime) -> float:
        stop = rt.event()

        def poll() -> None:
            while not stop.wait(timeout=0.1):
                pass

        poller = rt.spawn(poll, name="poller")
        with pytest.raises(TimeoutError):
            rt.future().result(timeout=600.0)
        ended = rt.now()
        stop.set()
        poller.join()
        return ended

    report = explore(scenario, runs=1)
    assert report.outcomes == ("600.0",)
    assert report.steps < 500


def test_a_loop_that_reads_the_clock_is_no_standstill() -> None:
    """Somebody who gives up by the clock, and then wakes a waiter, does so however long it takes."""

    def scenario(rt: ControlledRuntime) -> bool:
        inbox = rt.queue()
        freed = rt.event()

        def poll() -> None:
            end = rt.now() + 3600.0
            while rt.now() < end:
                try:
                    inbox.get(timeout=1.0)
                except queue.Empty:
                    continue
            freed.set()

        rt.spawn(poll, name="poller")
        return freed.wait()

    assert explore(scenario, runs=1).outcomes == ("True",)


def test_timeouts_take_no_real_time() -> None:
    """Hours of sleep pass at once, in the order of their deadlines."""

    def scenario(rt: ControlledRuntime) -> tuple[str, ...]:
        woken: list[str] = []

        def sleep(name: str, seconds: float) -> None:
            rt.sleep(seconds)
            woken.append(f"{name} at {rt.now():g}")

        and_join(rt, lambda: sleep("late", 7200.0), lambda: sleep("early", 3600.0))
        return tuple(woken)

    report = explore(scenario)
    assert report.outcomes == ("('early at 3600', 'late at 7200')",)
    assert report.seconds < 60


def test_a_waiter_looks_before_it_times_out() -> None:
    """What came at the very moment of the deadline is taken."""

    def scenario(rt: ControlledRuntime) -> str:
        inbox = rt.queue()

        def send() -> None:
            rt.sleep(1.0)
            inbox.put("sent")

        rt.spawn(send, name="sender")
        try:
            return str(inbox.get(timeout=1.0))
        except queue.Empty:
            return "empty"

    assert set(explore(scenario).outcomes) == {"'sent'", "'empty'"}


def test_a_loop_without_an_end_is_a_livelock() -> None:
    """A state that comes back, whoever is let go on, is told, with what the tasks do."""

    def scenario(rt: ControlledRuntime) -> None:
        flag = rt.event()
        while not flag.is_set():
            pass

    report = explore(scenario, max_steps=200)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.LIVELOCK
    assert "its state comes back" in report.failure.message
    assert "in scenario" in str(report.failure.where)


def test_a_loop_on_the_clock_is_a_livelock() -> None:
    """Time does not pass while a task can go on, so a loop that only reads the clock is told to sleep."""

    def scenario(rt: ControlledRuntime) -> None:
        while rt.now() < 1.0:
            pass

    failure = explore(scenario).failure
    assert failure is not None
    assert failure.kind is FailureKind.LIVELOCK
    assert "rt.sleep()" in failure.message


def test_a_loop_that_yields_lets_the_others_go_on() -> None:
    """A sleep of no time is no livelock: others go first."""

    def scenario(rt: ControlledRuntime) -> bool:
        flag = rt.event()
        rt.spawn(flag.set, name="setter")
        while not flag.is_set():
            rt.sleep(0)
        return True

    assert explore(scenario).outcomes == ("True",)


@pytest.mark.parametrize("timeout", [None, 0.5])
def test_a_task_that_outlives_the_scenario_is_a_leak(timeout: float | None) -> None:
    """Whether it waits or polls: it is named, with where it waits."""

    def scenario(rt: ControlledRuntime) -> None:
        event = rt.event()

        def work() -> None:
            while not event.wait(timeout):
                pass

        rt.spawn(work, name="worker")

    failure = found(scenario).failure
    assert failure is not None
    assert failure.kind is FailureKind.LEAK
    assert failure.task == "worker"
    assert failure.message == "'worker' outlived the scenario: 'worker' waits for event1 to be set"
    assert "in work" in str(failure.where)


def test_tasks_that_can_go_on_are_run_to_their_ends() -> None:
    """The scenario may return before its tasks do."""
    ended = []

    def scenario(rt: ControlledRuntime) -> None:
        def work() -> None:
            rt.sleep(5.0)
            ended.append(True)

        rt.spawn(work, name="worker")

    assert explore(scenario).verdict == "holds"
    assert ended


def test_an_exception_in_any_task_is_a_failure() -> None:
    """It is told with its task, its line and its traceback, without lines of ours."""

    def scenario(rt: ControlledRuntime) -> None:
        def work() -> None:
            raise KeyError("lost")

        rt.spawn(work, name="worker").join()

    failure = found(scenario).failure
    assert failure is not None
    assert (failure.kind, failure.task) == (FailureKind.EXCEPTION, "worker")
    assert failure.message == "KeyError: 'lost'"
    assert "in work" in str(failure.where)
    assert all("omni_ipc/testbed" not in line for line in failure.details)


def test_a_scenario_that_raises_at_once_is_a_failure() -> None:
    """Also before its first point."""

    def scenario(rt: ControlledRuntime) -> None:
        raise RuntimeError("no world")

    report = found(scenario)
    assert report.trace is not None
    assert report.trace.steps == ()


def test_a_lock_that_a_task_took_with_it_is_told() -> None:
    """A task ends with a lock in hand: who waits for it is a lost wake-up, and the one that has left is named."""

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()
        rt.spawn(lock.acquire, name="leaver").join()
        lock.acquire()

    failure = explore(scenario).failure
    assert failure is not None
    assert failure.kind is FailureKind.LOST_WAKEUP
    assert "'leaver'" in failure.message


async def _asynchronous(rt: ControlledRuntime) -> None:
    raise AssertionError("never run")


def _yielding(rt: ControlledRuntime) -> Iterator[None]:
    yield


def _with_asynchronous_task(rt: ControlledRuntime) -> None:
    rt.spawn(_asynchronous, rt, name="task").join()


@pytest.mark.parametrize("scenario", [_asynchronous, _yielding])
def test_what_only_looks_like_a_scenario_is_refused(scenario: Callable[[ControlledRuntime], object]) -> None:
    """A call of a coroutine function or a generator function does not run its body."""
    with pytest.raises(UsageError, match="calling it does not run its body"):
        explore(scenario)


def test_a_task_that_only_looks_like_one_that_ran_has_failed() -> None:
    """That is told, and never "holds"."""
    report = explore(_with_asynchronous_task)
    assert report.verdict is Verdict.VIOLATED
    assert report.failure is not None
    assert "its body was never run" in report.failure.message


def test_an_error_from_inside_the_standard_library_is_placed_at_the_line_that_called_it() -> None:
    """The reader is led to code of the scenario."""

    def scenario(rt: ControlledRuntime) -> None:
        json.loads("{")

    failure = explore(scenario).failure
    assert failure is not None
    assert failure.where is not None
    assert failure.where.startswith("test_stuck.py:")
