"""Saved failures: found again by the scenario's name, run first, and replaced by the same failure only."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import Failure, FailureKind, MemoryOrder, Trace, Verdict
from omni_ipc.testbed import ControlledRuntime, explore, saved
from tests.testbed.kernels import Counter, and_join, found, philosophers
from tests.testbed.test_replay import crowded


@pytest.fixture
def trace() -> Trace:
    trace = found(philosophers).trace
    assert trace is not None
    return msgspec.structs.replace(trace, scenario="tests/dining.py:philosophers")


def test_a_failure_is_found_by_the_name_of_its_scenario(trace: Trace, tmp_path: Path) -> None:
    """And not by that of a function of the same name elsewhere."""
    path = saved.save(trace, tmp_path)
    assert path.parent == tmp_path / "failures"
    assert path.name.startswith("dining.philosophers-")
    assert saved.for_scenario("tests/dining.py:philosophers", folder=tmp_path) == (trace,)
    assert saved.for_scenario("other/dining.py:philosophers", folder=tmp_path) == ()


def test_the_same_failure_replaces_itself_and_another_one_lies_beside_it(trace: Trace, tmp_path: Path) -> None:
    """The same kind and message, but for numbers, is the same failure."""
    other = msgspec.structs.replace(trace, failure=Failure(FailureKind.EXCEPTION, "ValueError: 3"))
    again = msgspec.structs.replace(other, failure=Failure(FailureKind.EXCEPTION, "ValueError: 4"))
    assert saved.save(trace, tmp_path) != saved.save(other, tmp_path)
    assert saved.save(other, tmp_path) == saved.save(again, tmp_path)
    found_now = saved.for_scenario(trace.scenario, folder=tmp_path)
    assert sorted(found_now, key=str) == sorted([trace, again], key=str)


def test_a_failure_of_another_world_is_left_alone(trace: Trace, tmp_path: Path) -> None:
    """A defect and a memory order are part of what fails."""
    saved.save(msgspec.structs.replace(trace, memory=MemoryOrder.TSO, defect="d"), tmp_path)
    assert saved.for_scenario(trace.scenario, folder=tmp_path) == ()
    assert len(saved.for_scenario(trace.scenario, defect="d", memory="tso", folder=tmp_path)) == 1


def test_a_saved_failure_that_cannot_be_read_is_named(trace: Trace, tmp_path: Path) -> None:
    """Nothing is skipped in silence."""
    path = saved.save(trace, tmp_path)
    path.write_text("{")
    with pytest.raises(UsageError, match=path.name):
        saved.for_scenario(trace.scenario, folder=tmp_path)


def test_any_name_makes_a_file_in_the_folder(trace: Trace, tmp_path: Path) -> None:
    """A test's name may hold what a file's name may not."""
    named = msgspec.structs.replace(trace, scenario="tests/test_a.py::TestB::test_c[../../x-1 /y]")
    path = saved.save(named, tmp_path)
    assert path.parent == tmp_path / "failures"
    assert saved.for_scenario(named.scenario, folder=tmp_path) == (named,)


def test_a_failure_that_still_happens_is_the_answer_at_once(trace: Trace) -> None:
    """One schedule is run, and it is told why."""
    first = found(crowded).trace
    assert first is not None
    report = explore(crowded, first=[first])
    assert (report.verdict, report.schedules, report.strategy) == (Verdict.VIOLATED, 1, "saved failures")
    assert report.reason.startswith("a failure that was saved earlier happens again: ")


def test_after_a_mended_failure_the_exploration_goes_on() -> None:
    """And holds, if it does."""
    first = found(crowded).trace
    assert first is not None

    def mended(rt: ControlledRuntime) -> None:
        counter, lock = Counter(), rt.lock()
        rt.watch(counter, None, "Counter")

        def add() -> None:
            with lock:
                counter.value += 1

        and_join(rt, add, add)
        assert counter.value == 2, "an update was lost"

    assert explore(mended, first=[first]).verdict is Verdict.HOLDS


def test_what_fails_along_a_saved_failure_only_now_and_then_is_no_answer() -> None:
    """It is run twice more, as any schedule that fails; the exploration tells what is not under control."""
    first = found(philosophers).trace
    assert first is not None
    runs = itertools.count()

    def uneven(rt: ControlledRuntime) -> None:
        and_join(rt, rt.lock().acquire, rt.lock().acquire)
        assert next(runs) % 2, "the count is even"

    report = explore(uneven, first=[first])
    assert (report.verdict, report.strategy) == (Verdict.INCONCLUSIVE, "portfolio")
    assert "nondeterminism" in report.reason


def test_another_failure_along_a_saved_one_is_not_told_as_the_same() -> None:
    """It is an answer all the same: the code as it is now fails."""
    first = found(philosophers).trace
    assert first is not None

    def broken(rt: ControlledRuntime) -> None:
        philosophers(rt)
        raise ValueError("spilt")

    def otherwise(rt: ControlledRuntime) -> None:
        and_join(rt, rt.lock().acquire, rt.lock().acquire)
        raise ValueError("spilt")

    assert "happens again: deadlock: " in explore(broken, first=[first]).reason
    report = explore(otherwise, first=[first])
    assert (report.verdict, report.strategy) == (Verdict.VIOLATED, "saved failures")
    assert "still fails, if not with the same words: exception: ValueError: spilt" in report.reason


def settled_or_given_up(rt: ControlledRuntime) -> None:
    """Fail if the future is cancelled, or if its timeout comes first."""
    future = rt.future()
    settler = rt.spawn(lambda: future.done() or future.set_result("answer"), name="settler")
    assert future.result(1.0) == "answer"
    settler.join()


@pytest.mark.parametrize(("faults", "timers"), [(["cancel"], "virtual"), ([], "explored")])
def test_a_saved_failure_needs_what_went_wrong_in_it_to_be_asked_for(faults: list[str], timers: str) -> None:
    """Nothing goes wrong unless it is asked for, also not because it did once before."""
    first = explore(settled_or_given_up, faults=faults, timers=timers).trace
    assert first is not None
    assert explore(settled_or_given_up, first=[first]).verdict is Verdict.HOLDS
    assert explore(settled_or_given_up, first=[first], faults=["cancel:other"]).verdict is Verdict.HOLDS
    again = explore(settled_or_given_up, first=[first], faults=faults, timers=timers)
    assert (again.verdict, again.strategy) == (Verdict.VIOLATED, "saved failures")


def test_a_saved_failure_that_needs_no_fault_happens_again_under_any() -> None:
    """What may go wrong beside it is no duty."""
    first = found(crowded).trace
    assert first is not None
    again = explore(crowded, first=[first], faults=["spurious"], timers="explored")
    assert again.strategy == "saved failures"
    assert again.trace is not None
    assert again.trace.faults == ("timers,2", "spurious")
