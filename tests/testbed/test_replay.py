"""Replay and shrink: a trace is followed strictly, and told where it cannot be."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import FailureKind, Origin, Trace
from omni_ipc.testbed import ControlledRuntime, explore, replay, shrink
from omni_ipc.testbed.faults import SpuriousWakeup
from tests.testbed.kernels import Counter, and_join, found, philosophers


def crowded(rt: ControlledRuntime) -> None:
    """Lose an update among much that has nothing to do with it."""
    counter = Counter()
    rt.watch(counter, None, "Counter")
    noise = rt.semaphore(10)

    def add() -> None:
        for _ in range(3):
            noise.release()
        counter.value += 1
        for _ in range(3):
            noise.release()

    def chatter() -> None:
        for _ in range(6):
            noise.release()

    and_join(rt, add, add, chatter, chatter)
    assert counter.value == 2, "an update was lost"


def test_a_failing_schedule_replays_step_for_step(tmp_path: Path) -> None:
    """Also from a file: the same steps, the same places, the same failure."""
    report = found(philosophers)
    assert report.trace is not None
    trace = Trace.load(report.trace.save(tmp_path / "a.trace.json"))
    assert trace == report.trace
    again = replay(philosophers, trace)
    assert again.trace == trace
    assert trace.origin is Origin.EXPLORED
    assert all("kernels.py" in str(step.where) for step in trace.steps)


def test_what_a_random_walk_finds_shrinks_to_a_few_switches() -> None:
    """Five tasks that run one after the other switch five times; one update is lost by three more."""
    report = explore(crowded, strategy="random", runs=500)
    assert report.trace is not None
    assert report.failure is not None
    assert report.failure.message.startswith("AssertionError: an update was lost")
    tasks = [step.task for step in report.trace.steps]
    switches = sum(before != after for before, after in itertools.pairwise(tasks))
    assert switches <= 8
    assert replay(crowded, report.trace).failure == report.failure


def test_shrinking_a_long_trace_keeps_the_failure_and_shortens_it() -> None:
    """A recorded detour is dropped."""

    def scenario(rt: ControlledRuntime) -> None:
        counter = Counter()
        rt.watch(counter, None, "Counter")

        def add() -> None:
            counter.value += 1
            assert counter.value > 1, "first"

        def walk() -> None:
            for _ in range(20):
                with rt.region("Walk"):
                    pass

        and_join(rt, walk, add)

    report = found(scenario)
    assert report.trace is not None
    first, *rest = report.trace.steps
    walked = [step for step in replayed_walk(scenario) if step.task == "a"]
    long = msgspec.structs.replace(report.trace, steps=(first, *walked, *(s for s in rest if s.task != "a")))
    assert replay(scenario, long).failure == report.failure
    short = shrink(scenario, long)
    assert len(short.steps) < len(long.steps)
    assert short.failure == report.failure


def replayed_walk(scenario: object) -> tuple[object, ...]:
    """Return the steps of the default order."""
    empty = Trace(version=1, scenario="walk", origin=Origin.EXPLORED, steps=())
    return replay(scenario, empty).trace.steps  # type: ignore[arg-type]


def test_a_trace_that_the_code_does_not_follow_is_told_where() -> None:
    """The step, what was expected, what the task offers instead, and at which line."""
    report = found(philosophers)
    assert report.trace is not None

    def changed(rt: ControlledRuntime) -> None:
        left, right = rt.lock(), rt.lock()

        def dine() -> None:
            with left, right:
                pass

        and_join(rt, dine, dine)

    result = replay(changed, report.trace)
    assert result.failure is None
    assert result.diverged is not None
    assert result.diverged.step == result.followed == 2
    assert "the task offers b: lock.acquire(lock=lock1)" in str(result.diverged)
    assert "test_replay.py" in str(result.diverged)


def test_a_step_that_is_blocked_is_told_with_its_reason() -> None:
    """The same operation, but it cannot go on."""

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()

        def enter() -> None:
            with lock:
                assert held, "entered"

        held = [True]
        and_join(rt, enter, enter)

    default = replayed_walk(scenario)
    acquires = tuple(step for step in default if step.action == "lock.acquire")  # type: ignore[attr-defined]
    trace = Trace(version=1, scenario="x", origin=Origin.EXPLORED, steps=(default[0], *acquires))  # type: ignore[arg-type]
    diverged = replay(scenario, trace).diverged
    assert diverged is not None
    assert diverged.step == 2
    assert "there it waits for lock1, which 'a' holds" in str(diverged)


def test_a_trace_longer_than_the_run_is_told() -> None:
    """Steps that nobody takes are a difference."""
    trace = Trace(version=1, scenario="walk", origin=Origin.EXPLORED, steps=())
    longer = msgspec.structs.replace(trace, steps=found(philosophers).trace.steps)  # type: ignore[union-attr]
    diverged = replay(lambda rt: None, longer).diverged
    assert diverged is not None
    assert "the run had ended" in str(diverged)


def test_any_strategy_goes_on_after_the_trace() -> None:
    """The trace is a prefix."""
    report = found(philosophers)
    assert report.trace is not None
    prefix = msgspec.structs.replace(report.trace, steps=report.trace.steps[:1])
    kinds = {replay(philosophers, prefix, then="random", seed=seed).failure for seed in range(30)}
    assert None in kinds
    assert any(failure is not None and failure.kind is FailureKind.DEADLOCK for failure in kinds)


def test_a_replay_is_repeatable() -> None:
    """The same trace gives the same run, every time."""
    trace = explore(crowded, strategy="random", runs=500, seed=3).trace
    assert trace is not None
    assert len({msgspec.json.encode(replay(crowded, trace).trace) for _ in range(5)}) == 1


def test_wrong_traces_and_names_are_refused() -> None:
    """A model's trace has only some of the steps; a trace that does not fail cannot be shrunk."""
    trace = Trace(version=1, scenario="x", origin=Origin.MODEL, steps=())
    explored = msgspec.structs.replace(trace, origin=Origin.EXPLORED)
    with pytest.raises(UsageError, match="Stepper"):
        replay(philosophers, trace)
    with pytest.raises(UnknownName, match="random"):
        replay(philosophers, explored, then="randon")
    with pytest.raises(UsageError, match="does not fail"):
        shrink(philosophers, explored)


def test_other_tasks_that_can_go_on_are_told_strictly() -> None:
    """All steps can be taken as they were, and yet it is not the same code: somebody waits who did not."""

    def scenario(rt: ControlledRuntime) -> None:
        gate = rt.semaphore(width[0])

        def pass_through() -> None:
            gate.acquire()
            gate.release()

        and_join(rt, pass_through, pass_through)
        assert not width, "it ends here"

    width = [2]
    trace = found(scenario).trace
    assert trace is not None
    assert replay(scenario, trace).diverged is None
    width[0] = 1
    result = replay(scenario, trace)
    assert result.failure is not None
    assert result.followed == len(trace.steps)
    assert str(result.diverged).endswith("but there 'b' could go on, too, and cannot now")


def test_a_trace_of_faults_and_early_timers_needs_nothing_else() -> None:
    """They are steps of it, and it names what was possible."""

    def scenario(rt: ControlledRuntime) -> None:
        condition, waited = rt.condition(), rt.event()

        def wait() -> None:
            with condition:
                assert not condition.wait(timeout=1.0), "woken for nothing"
            waited.set()

        rt.spawn(wait, name="waiter")
        assert waited.wait(timeout=5.0), "the timer was late"

    for faults, timers, told in (([SpuriousWakeup()], "virtual", "spurious"), ([], "explored", "timers")):
        trace = explore(scenario, faults=faults, timers=timers).trace
        assert trace is not None
        assert [fault.partition(",")[0] for fault in trace.faults] == [told]
        again = replay(scenario, trace)
        assert (again.diverged, again.failure) == (None, trace.failure)
        assert replay(scenario, trace, mode="tolerant").repairs == ()


def test_a_livelock_is_cut_to_its_beginning_and_still_replays() -> None:
    """A trace of ten thousand steps tells no more than one of some sixty."""

    def scenario(rt: ControlledRuntime) -> None:
        flag = rt.event()

        def spin() -> None:
            while not flag.is_set():
                pass

        and_join(rt, spin)

    trace = explore(scenario).trace
    assert trace is not None
    assert trace.failure is not None
    assert trace.failure.kind is FailureKind.LIVELOCK
    assert len(trace.steps) < 100
    assert replay(scenario, trace).failure == trace.failure
