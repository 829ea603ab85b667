"""The stepper: one run, a step at a time, driven from outside."""

from __future__ import annotations

import pytest

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import FailureKind, MemoryOrder
from omni_ipc.testbed import ControlledRuntime, Refused, ScheduleFailed, Stepper, Stepping
from omni_ipc.testbed.faults.kill import Kill
from omni_ipc.testbed.faults.timers import EarlyTimers
from tests.testbed.kernels import philosophers, together


def relay(rt: ControlledRuntime) -> str:
    """Send one item from a to b."""
    inbox = rt.queue()
    got: list[str] = []
    together(rt, lambda: inbox.put("item"), lambda: got.append(inbox.get()))
    with rt.region("Look"):
        return f"got {got}"


def test_steps_are_taken_in_the_order_that_is_asked_for() -> None:
    """Each task's next operation is offered, with its fields, its line, and what it waits for."""
    with Stepper(relay) as stepper:
        (main,) = stepper.offers()
        assert (main.task, main.action, main.enabled) == ("main", "Start", True)
        stepper.take("main")
        main, a, b = stepper.offers()
        assert (a.action, a.fields, a.enabled) == ("queue.put", {"queue": "queue1"}, True)
        assert (b.action, b.enabled, b.blocked_on) == ("queue.get", False, "queue1, which is empty")
        assert "test_stepper.py" in str(a.where)
        assert main.action == "Look"
        stepper.take("a")
        assert [offer.task for offer in stepper.offers()] == ["main", "b"]
        stepper.take("b")
        assert stepper.finish() == "got ['item']"
        assert stepper.failure is None
        assert stepper.offers() == ()


def test_a_step_that_cannot_be_taken_is_refused_and_changes_nothing() -> None:
    """The refusal says what the task waits for, and at which line."""
    with Stepper(relay) as stepper:
        stepper.take("main")
        before = stepper.offers()
        with pytest.raises(Refused, match=r"'b' cannot take queue.get: it waits for queue1, which is empty \(test_st"):
            stepper.take("b")
        assert stepper.offers() == before
        with pytest.raises(UnknownName, match="'c'"):
            stepper.take("c")
        assert stepper.finish() == "got []"


def test_a_failure_ends_the_run_and_is_told() -> None:
    """After it nothing is offered, and a step is refused with the reason."""
    with Stepper(philosophers) as stepper:
        for task in ("main", "a", "b"):
            stepper.take(task)
        assert stepper.failure is not None
        assert stepper.failure.kind is FailureKind.DEADLOCK
        assert stepper.offers() == ()
        with pytest.raises(Refused, match="deadlock"):
            stepper.take("a")
        with pytest.raises(ScheduleFailed, match="deadlock") as raised:
            stepper.finish()
        assert raised.value.failure == stepper.failure


def test_an_order_may_end_well() -> None:
    """The rest is run in the default order."""
    with Stepper(philosophers) as stepper:
        for task in ("main", "a", "a"):
            stepper.take(task)
        assert stepper.finish() is None
        with pytest.raises(Refused, match="ended"):
            stepper.take("a")


def test_a_scenario_that_fails_at_once_is_told() -> None:
    """Before there is anything to take."""

    def scenario(rt: ControlledRuntime) -> None:
        raise RuntimeError("no world")

    with Stepper(scenario) as stepper:
        assert stepper.failure is not None
        with pytest.raises(ScheduleFailed, match="no world"):
            stepper.finish()


def test_a_run_may_be_left_in_the_middle() -> None:
    """Its tasks are unwound."""
    ended: list[str] = []

    def scenario(rt: ControlledRuntime) -> None:
        try:
            rt.event().wait()
        finally:
            ended.append("main")

    with Stepper(scenario):
        pass
    assert ended == ["main"]


def test_time_passes_when_nobody_else_can_go_on() -> None:
    """A step that waits for time only is offered once the others wait, too."""

    def scenario(rt: ControlledRuntime) -> float:
        together(rt, lambda: rt.sleep(1.0))
        rt.sleep(2.0)
        return rt.now()

    with Stepper(scenario) as stepper:
        stepper.take("main")
        assert [(offer.task, offer.enabled) for offer in stepper.offers()] == [("main", False), ("a", True)]
        stepper.take("a")
        stepper.take("main")
        assert stepper.finish() == 2.0


def test_objects_can_be_looked_at_between_steps_but_not_waited_for() -> None:
    """The driver is no task: what would wait is refused."""
    queues = []

    def scenario(rt: ControlledRuntime) -> None:
        inbox = rt.queue()
        queues.append(inbox)
        inbox.put("item")

    with Stepper(scenario) as stepper:
        assert queues[0].empty()
        with pytest.raises(UsageError, match="no task"):
            queues[0].get()
        stepper.take("main")
        assert queues[0].qsize() == 1


def enabled(stepper: Stepper) -> list[tuple[str, str]]:
    return [(offer.task, offer.action) for offer in stepper.enabled()]


def test_many_runs_share_what_outlives_a_run() -> None:
    """Each begins at the beginning."""
    with Stepping(relay) as stepping:
        for _ in range(3):
            with stepping.begin() as stepper:
                assert enabled(stepper) == [("main", "Start")]
                stepper.take("main")
                assert enabled(stepper) == [("main", "Look"), ("a", "queue.put")]
                assert stepper.finish() == "got []"


def test_faults_are_steps_of_agents() -> None:
    """A kill takes the task away; what waited for it goes on, and what it held stays as it was."""

    def scenario(rt: ControlledRuntime) -> str:
        done: list[str] = []
        worker = rt.spawn(lambda: (rt.sleep(1.0), done.append("work")), name="worker")
        worker.join()
        return f"{done} at {rt.now()}"

    with Stepping(scenario, faults=(Kill("worker"), EarlyTimers(1))) as stepping:
        with stepping.begin() as stepper:
            stepper.take("main")
            assert [(offer.task, offer.enabled) for offer in stepper.offers()] == [
                ("main", False),
                ("worker", False),
                ("time", True),
                ("kill(worker)", True),
            ]
            stepper.take("kill(worker)")
            assert enabled(stepper) == [("main", "task.join")]
            assert repr(stepper.finish()) == "'[] at 0.0'"
        with stepping.begin() as stepper:
            stepper.take("main")
            stepper.take("time")
            assert enabled(stepper) == [("worker", "sleep"), ("kill(worker)", "fault.kill(worker)")]
            stepper.take("worker")
            assert enabled(stepper) == [("main", "task.join")]
            assert stepper.finish() == "['work'] at 1.0"
        with stepping.begin() as stepper:
            assert stepper.finish() == "['work'] at 1.0", "time is no fault, and a kill is no duty"


def test_time_that_finds_nobody_ends_the_run_as_stuck() -> None:
    """As an agent's step, too."""

    def scenario(rt: ControlledRuntime) -> None:
        rt.event().wait()

    with Stepper(scenario, faults=(EarlyTimers(1),)) as stepper:
        assert enabled(stepper) == [("time", "time.passes")]
        stepper.take("time")
        assert stepper.failure is not None
        assert stepper.failure.kind is FailureKind.LOST_WAKEUP
        with pytest.raises(ScheduleFailed, match="wait"):
            stepper.finish()


def late(rt: ControlledRuntime) -> list[int]:
    """Store a word and some bytes in one task, and look at both in another one."""
    words = rt.words(memoryview(bytearray(32)))
    seen: list[int] = []

    def store() -> None:
        words.store(0, 1)
        words.write(16, b"\2")

    with rt.region("Begin"):
        tasks = [rt.spawn(store, name="writer"), rt.spawn(lambda: seen.append(words.load(0)), name="reader")]
    for task in tasks:
        task.join()
    return seen


def test_a_late_store_reaches_memory_by_a_step_of_a_drain() -> None:
    """Before that others see what was there before; who takes the step is told by a number if there are several."""
    with Stepper(late, memory=MemoryOrder.WEAK) as stepper:
        for task in ("main", "writer", "writer"):
            stepper.take(task)
        word, some_bytes = (offer for offer in stepper.enabled() if offer.action == "words.flush")
        assert (word.task, word.fields["index"]) == (some_bytes.task, 0) == ("writer's stores", 0)
        assert word.number != some_bytes.number
        stepper.take(some_bytes.task, some_bytes.number)
        assert [offer.fields for offer in stepper.enabled() if offer.action == "words.flush"] == [word.fields]
        stepper.take("reader")
        assert stepper.finish() == [0]


def test_each_run_may_have_a_memory_order_of_its_own() -> None:
    """What the runs have in common does not depend on it; in order, a store waits for what was stored before it."""
    with Stepping(late) as stepping:
        for memory, drains in ((MemoryOrder.SC, 0), (MemoryOrder.TSO, 1), (MemoryOrder.RELEASE, 2)):
            with stepping.begin(memory) as stepper:
                for task in ("main", "writer", "writer"):
                    stepper.take(task)
                assert sum(offer.action == "words.flush" for offer in stepper.offers()) == drains
                assert stepper.finish() in ([0], [1])
