"""What is not under control is named, with its line and what to use instead, and never ignored."""

from __future__ import annotations

import concurrent.futures
import queue
import random
import signal
import threading
import time
from collections.abc import Callable

import pytest

from omni_ipc.errors import Inconclusive
from omni_ipc.records import Verdict
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.testbed import ControlledRuntime, Stepper, explore, uncontrolled, watchdog

PRIMITIVES: list[tuple[str, Callable[[], object], str]] = [
    ("time.sleep()", lambda: time.sleep(0.001), "rt.sleep()"),
    ("time.monotonic()", lambda: time.monotonic(), "rt.now()"),
    ("a real threading.Lock", lambda: threading.Lock(), "rt.lock()"),
    ("a real threading.RLock", lambda: threading.RLock(), "rt.rlock()"),
    ("a real threading.Condition", lambda: threading.Condition(), "rt.condition()"),
    ("a real threading.Event", lambda: threading.Event(), "rt.event()"),
    ("a real threading.Semaphore", lambda: threading.Semaphore(), "rt.semaphore()"),
    ("a real thread", lambda: threading.Thread(target=print).start(), "rt.spawn()"),
    ("a real thread", lambda: concurrent.futures.ThreadPoolExecutor(1).submit(print), "rt.spawn()"),
    ("a real queue.Queue", lambda: queue.Queue(), "rt.queue()"),
    ("a real queue.Queue", lambda: queue.LifoQueue(), "rt.queue()"),
    ("a real concurrent.futures.Future", lambda: concurrent.futures.Future(), "rt.future()"),
    ("random.random()", lambda: random.random(), "random.Random(seed)"),
    ("random.choice()", lambda: random.choice([1]), "random.Random(seed)"),
    ("a real threading.Lock", lambda: NativeRuntime().lock(), "rt.lock()"),
]


@pytest.mark.parametrize(("title", "use", "remedy"), PRIMITIVES)
def test_a_primitive_that_is_not_under_control_is_named(title: str, use: Callable[[], object], remedy: str) -> None:
    """The verdict is inconclusive; the reason tells what, where and what to use instead."""

    def scenario(rt: ControlledRuntime) -> None:
        rt.spawn(use, name="worker").join()

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith(f"Task 'worker' used {title} at test_uncontrolled.py:")
    assert remedy in report.reason


def test_code_that_catches_everything_does_not_hide_it() -> None:
    """The run ends at the next point at the latest."""

    def scenario(rt: ControlledRuntime) -> None:
        try:
            time.sleep(0.001)
        except BaseException:
            rt.event().set()

    assert explore(scenario).verdict is Verdict.INCONCLUSIVE


def test_a_stepper_tells_it_too() -> None:
    """It raises, as there is no report."""

    def scenario(rt: ControlledRuntime) -> None:
        rt.event().set()
        time.monotonic()

    with Stepper(scenario) as stepper, pytest.raises(Inconclusive, match=r"time\.monotonic"):
        stepper.take("main")


def test_what_libraries_keep_to_themselves_is_let_be() -> None:
    """The standard library's own locks, a seeded random.Random and numpy are no cause for alarm."""
    numpy = pytest.importorskip("numpy")

    def scenario(rt: ControlledRuntime) -> tuple[float, int]:
        import logging

        logging.getLogger("test").debug("a record reads the clock")
        return random.Random(1).random(), int(numpy.arange(3).sum())

    assert explore(scenario).verdict is Verdict.HOLDS


def test_primitives_are_put_back() -> None:
    """Whatever comes of the exploration, the process is as before."""
    owners = [(owner, name) for owner, name, _, _ in uncontrolled._PRIMITIVES]
    before = [getattr(owner, name) for owner, name in owners]
    signals = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGINT)]
    for use in (lambda: None, lambda: time.sleep(0.001), lambda: 1 / 0):
        explore(lambda rt, use=use: use())  # type: ignore[misc]
    assert [getattr(owner, name) for owner, name in owners] == before
    assert [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGINT)] == signals


def test_a_timer_that_somebody_else_has_set_is_given_back() -> None:
    """Test runners bound tests by the same timer."""
    delay, _ = signal.getitimer(signal.ITIMER_REAL)
    explore(lambda rt: None)
    after, _ = signal.getitimer(signal.ITIMER_REAL)
    assert (after > 0) == (delay > 0)
    assert after <= delay


REAL = threading.Lock()


def test_a_step_that_blocks_for_real_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock made before the exploration is not seen until it blocks; then it is named by its line."""
    monkeypatch.setattr(watchdog, "STALL_S", 0.2)

    def scenario(rt: ControlledRuntime) -> None:
        event = rt.event()

        def hold() -> None:
            with REAL:
                event.wait(1.0)

        rt.spawn(hold, name="a")
        rt.spawn(hold, name="b")

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith("Task 'b' has not come to a point for 0.2 s of real time, at test_uncontrolled.py:")
    assert "`with REAL:`" in report.reason
    assert not REAL.locked()


def test_a_step_that_computes_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop without a point would hang the exploration."""
    monkeypatch.setattr(watchdog, "STALL_S", 0.2)

    def scenario(rt: ControlledRuntime) -> None:
        while True:
            pass

    assert explore(scenario).verdict is Verdict.INCONCLUSIVE


def test_state_kept_between_runs_is_nondeterminism() -> None:
    """A scenario that does something else the second time is not certified."""
    calls = []

    def scenario(rt: ControlledRuntime) -> None:
        calls.append(1)
        event, other = rt.event(), rt.event()
        (event if len(calls) == 1 else other).is_set()
        rt.spawn(event.set, name="setter")
        event.is_set()

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith("Uncontrolled nondeterminism")


def test_a_failure_that_does_not_repeat_is_nondeterminism() -> None:
    """A failure is run again twice before it is reported."""
    calls = []

    def scenario(rt: ControlledRuntime) -> None:
        calls.append(1)
        assert len(calls) > 1

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "a good end" in report.reason
