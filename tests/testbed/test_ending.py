"""The end of a run: nothing is left of it, however it ends."""

from __future__ import annotations

import functools
import gc
import itertools
import signal
import weakref
from collections.abc import Callable

import greenlet
import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, Stepper, explore
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Carrier
from omni_ipc.testbed.uncontrolled import Guard
from tests.testbed.kernels import independent


def carriers() -> int:
    """Count the greenlets of the testbed that are alive."""
    gc.collect()
    return sum(type(item) is Carrier and not item.greenlet.dead for item in gc.get_objects())


def test_runs_leave_no_greenlet_and_no_world_behind() -> None:
    """Also those that are cut short, fail, or leave tasks waiting."""
    worlds: list[weakref.ref[object]] = []

    class World:
        pass

    def scenario(rt: ControlledRuntime) -> None:
        world = World()
        worlds.append(weakref.ref(world))
        never = rt.future()

        def wait() -> object:
            return world, never.result()

        for name in "abc":
            rt.spawn(wait, name=name)

    before = carriers()
    explore(scenario)
    explore(independent(3, 2))
    explore(independent(2, 3), strategy="brute-force", runs=3)
    with Stepper(independent(2, 2)) as stepper:
        stepper.take("main")
    assert carriers() == before
    assert [ref() for ref in worlds if ref() is not None] == []


def test_many_runs_use_no_more_memory_than_few() -> None:
    """The number of objects does not grow with the number of runs."""
    explore(independent(3, 3), strategy="random", runs=100)
    gc.collect()
    before = len(gc.get_objects())
    explore(independent(3, 3), strategy="random", runs=3_000)
    gc.collect()
    assert len(gc.get_objects()) - before < 200


def test_cleaning_up_runs_when_a_run_ends_early() -> None:
    """Each waiting task is unwound: its `finally` runs, and its locks are no trouble."""
    cleaned: list[str] = []

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()
        never = rt.event()

        def wait(name: str) -> None:
            try:
                with lock if name == "a" else rt.region("Wait"):
                    never.wait()
            finally:
                cleaned.append(name)

        for name in "ab":
            rt.spawn(wait, name, name=name)
        raise AssertionError("over")

    assert explore(scenario).verdict is Verdict.VIOLATED
    assert set(cleaned) == {"a", "b"}


def test_code_that_catches_everything_once_is_unwound_all_the_same() -> None:
    """A pump that survives its errors ends at its next point."""

    def scenario(rt: ControlledRuntime) -> None:
        never = rt.queue()
        seen: list[str] = []

        def pump() -> None:
            while len(seen) < 50:
                try:
                    never.get()
                except BaseException as error:
                    seen.append(type(error).__name__)

        rt.spawn(pump, name="pump")
        raise AssertionError("over")

    report = explore(scenario)
    assert report.verdict is Verdict.VIOLATED
    assert report.failure is not None
    assert report.failure.message == "AssertionError: over"


def test_code_that_catches_everything_in_a_region_is_unwound_all_the_same() -> None:
    """The region is left, so that the next one is a point again."""

    def scenario(rt: ControlledRuntime) -> None:
        never, flag = rt.queue(), rt.event()

        def pump() -> None:
            try:
                with rt.region("Poll"):
                    never.get()
            except BaseException:
                while True:
                    with rt.region("Note"):
                        flag.set()

        rt.spawn(pump, name="pump")
        raise AssertionError("over")

    assert explore(scenario).verdict is Verdict.VIOLATED


def test_code_that_catches_everything_for_ever_is_named() -> None:
    """It cannot be unwound, so nothing is claimed; the reason tells task, line and remedy."""

    def scenario(rt: ControlledRuntime) -> None:
        never = rt.queue()

        def pump() -> None:
            while True:
                try:
                    never.get()
                except BaseException:
                    continue

        rt.spawn(pump, name="pump")
        raise AssertionError("over")

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith("Task 'pump' goes on after its run has ended (test_ending.py:")
    assert "Catch Exception" in report.reason


PRESS_CTRL_C = functools.partial(signal.raise_signal, signal.SIGINT)  # kept from the guard, as the user's finger is


@pytest.mark.parametrize("catching", [(), (BaseException,)])
def test_ctrl_c_ends_the_exploration(catching: tuple[type[BaseException], ...]) -> None:
    """It propagates out of explore, is not swallowed by code under test, and leaves nothing."""

    def scenario(rt: ControlledRuntime) -> None:
        def work() -> None:
            try:
                PRESS_CTRL_C()
                rt.event().set()
            except catching:
                pass
            rt.event().set()

        rt.spawn(work, name="worker")
        rt.event().wait()

    before = carriers()
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        explore(scenario)
    assert carriers() == before
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_task_that_raises_keyboard_interrupt_has_failed() -> None:
    """Nobody has pressed Ctrl-C: it is told as what the task raised, and found again by its schedule."""

    def scenario(rt: ControlledRuntime) -> None:
        def work() -> None:
            raise KeyboardInterrupt("by itself")

        rt.spawn(work, name="worker")

    report = explore(scenario)
    assert report.verdict is Verdict.VIOLATED
    assert report.failure is not None
    assert report.failure.message == "KeyboardInterrupt: by itself"


def test_an_answer_to_ctrl_c_of_somebody_else_ends_the_exploration() -> None:
    """It interrupts a task in the middle, and what it raises is none of the task's own."""

    def answer(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    def scenario(rt: ControlledRuntime) -> None:
        rt.spawn(PRESS_CTRL_C, name="worker").join()

    before = signal.signal(signal.SIGINT, answer)
    try:
        with pytest.raises(KeyboardInterrupt):
            explore(scenario)
    finally:
        signal.signal(signal.SIGINT, before)


def _raise(progress: object) -> None:
    raise KeyboardInterrupt


def _press(progress: object) -> None:
    PRESS_CTRL_C()


@pytest.mark.parametrize("interrupt", [_raise, _press])
def test_ctrl_c_between_runs_ends_the_exploration(interrupt: Callable[[object], None]) -> None:
    """As when it comes while progress is told: nothing is half done there."""
    before = carriers()
    with pytest.raises(KeyboardInterrupt):
        explore(independent(4, 4), strategy="brute-force", progress=interrupt)
    assert carriers() == before


def test_ctrl_c_before_a_run_has_begun_is_no_bug_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one is answered at once, also where the world of a run is half made; nothing else is told."""

    def press_twice(kernel: Kernel, *_: object) -> None:
        PRESS_CTRL_C()
        PRESS_CTRL_C()

    monkeypatch.setattr(Kernel, "launch", press_twice)
    with pytest.raises(KeyboardInterrupt):
        explore(independent(2, 2))


def test_ctrl_c_after_the_last_run_is_not_lost() -> None:
    """It is answered once everything is as it was."""
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        with Guard():
            PRESS_CTRL_C()
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_task_starts_without_the_context_of_an_earlier_one() -> None:
    """Carriers are used again; context variables are not."""
    import contextvars

    variable = contextvars.ContextVar("variable", default="unset")

    def scenario(rt: ControlledRuntime) -> str:
        seen: list[str] = []

        def work() -> None:
            seen.append(variable.get())
            variable.set("set")

        for name in "ab":
            rt.spawn(work, name=name).join()
        return ",".join(seen)

    assert explore(scenario).outcomes == ("'unset,unset'",)


def test_objects_of_a_run_that_is_over_do_not_wait() -> None:
    """A generator that is closed by the garbage collector after its run may still release its locks."""
    locks = []

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()
        locks.append(lock)
        lock.acquire()

    explore(scenario)
    locks[0].release()
    assert locks[0].acquire(blocking=False)
    assert greenlet.getcurrent().parent is None


def test_an_assertion_without_words_is_told_by_its_statement() -> None:
    """Its type alone would say nothing; one with words keeps them."""

    def silent() -> None:
        assert len("ab") > 2

    def told() -> None:
        assert len("ab") > 2, "too short"

    messages = [failure.message for scenario in (silent, told) if (failure := explore(scenario).failure)]
    assert messages == ['AssertionError: assert len("ab") > 2', "AssertionError: too short"]


KEPT = "no variable of an assertion, whose loop has one of that name"


class Totals:
    """Sums, in attributes of three kinds."""

    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept = [1, 2]

    @property
    def asked(self) -> int:
        """What only a call could tell."""
        raise SystemExit("a call of the code under test")


def test_the_values_of_a_failed_assertion_are_told_and_no_code_is_called_for_them() -> None:
    """Of variables and kept attributes, also where several lines claim; not of loops in it, nor of functions."""

    def scenario() -> None:
        totals, limit, other = Totals(), 2, object()
        assert (
            totals.asked is other  # where it was not come to
            if len(totals.kept) < limit
            else [KEPT == "ü" for KEPT in [limit]] == [True]
        )

    failure = explore(scenario).failure
    assert failure is not None
    claimed = (
        "assert totals.asked is other if len(totals.kept) < limit else [KEPT == 'ü' for KEPT in [limit]] == [True]"
    )
    assert failure.message == f"AssertionError: {claimed}"
    assert failure.details[-2:] == ("    totals.kept = [1, 2]", "    limit = 2")


def test_a_failure_is_the_same_though_a_value_of_its_assertion_is_another() -> None:
    """Values that each run makes anew are shown, and no ground to call a schedule one that does not repeat."""

    def scenario() -> None:
        number = next(RUNS)
        assert not number

    report = explore(scenario)
    assert (report.verdict, report.failure and report.failure.message) == (
        Verdict.VIOLATED,
        "AssertionError: assert not number",
    )


RUNS = itertools.count(1)
