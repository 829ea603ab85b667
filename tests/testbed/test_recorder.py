"""The trace of a failure says what its steps touched, with values, why each task stopped, and who waits for whom."""

from __future__ import annotations

from omni_ipc.records import Access, FailureKind, Step, Trace, Why
from omni_ipc.testbed import ControlledRuntime
from tests.testbed.kernels import Counter, and_join, found, lost_update, philosophers, together


def lossy(rt: ControlledRuntime) -> None:
    assert lost_update(rt) == 2, "an update was lost"


def trace_of(scenario: object) -> Trace:
    trace = found(scenario).trace  # type: ignore[arg-type]
    assert trace is not None
    return trace


def steps_of(trace: Trace, action: str) -> list[Step]:
    return [step for step in trace.steps if step.action == action]


def test_conflicting_accesses_have_their_values() -> None:
    """Read or written, and what was there after the step."""
    trace = trace_of(lossy)
    uses = [(step.task, step.accesses) for step in trace.steps if step.action.startswith("field.")]
    assert uses == [
        ("a", (Access("Counter.value", value="0"),)),
        ("b", (Access("Counter.value", value="0"),)),
        ("b", (Access("Counter.value", True, "1"), Access("the end of 'b'", True))),
        ("a", (Access("Counter.value", True, "1"), Access("the end of 'a'", True))),
        ("main", (Access("Counter.value", value="1"),)),
    ]


def test_objects_that_the_same_steps_use_are_told_apart_by_their_values() -> None:
    """What leaked is seen, though what did not leak was used by the same steps, and comes first."""

    class Table:
        def __init__(self, rt: ControlledRuntime) -> None:
            self.lock = rt.lock()
            self.waiting: dict[str, int] = {}
            self.cached: dict[str, int] = {}
            rt.watch(self, self.lock, name="Table")

        def take(self, key: str) -> None:
            with self.lock:
                self.cached[key] = len(self.waiting)

    def scenario(rt: ControlledRuntime) -> None:
        table = Table(rt)
        and_join(rt, lambda: table.take("a"))
        with table.lock:
            assert (table.waiting, table.cached) == ({}, {}), "it leaks"

    told = [access for step in trace_of(scenario).steps for access in step.accesses if step.task == "main"]
    assert {access.target: access.value for access in told if access.target.startswith("Table.")} == {
        "Table.waiting": "{}",
        "Table.cached": "{'a': 0}",
    }


def test_what_one_task_alone_uses_is_not_told() -> None:
    """It explains nothing."""

    def scenario(rt: ControlledRuntime) -> None:
        mine, shared = rt.queue(), rt.queue()

        def fill() -> None:
            mine.put(1)
            shared.put(2)

        and_join(rt, fill)
        assert shared.get() == 3, "another item"

    (mine, shared) = steps_of(trace_of(scenario), "queue.put")
    assert mine.accesses == ()
    assert shared.accesses[0] == Access("queue2", True, "[2]", "shared")


def test_each_switch_has_its_reason() -> None:
    """A choice, and what could have gone on; or that the task before waits, or has ended."""
    switches = [(step.task, step.switch) for step in trace_of(lossy).steps if step.switch is not None]
    told = [(task, switch.why, switch.reason, switch.over) for task, switch in switches]
    assert told == [
        ("a", Why.BLOCKED, "'main' waits for the end of 'a'", None),
        ("b", Why.PREEMPTED, "'a' could have gone on with field.write", "a"),
        ("a", Why.ENDED, "'b' has ended", None),
        ("main", Why.ENDED, "'a' has ended", None),
    ]


def test_who_else_could_have_gone_on_is_told() -> None:
    """By name; nobody is told as nobody, and not as unknown."""
    trace = trace_of(lossy)
    assert [step.others for step in trace.steps] == [(), ("b",), ("a",), ("a",), (), (), (), ()]


def test_the_wait_for_graph_is_part_of_a_deadlock() -> None:
    """An edge a task: what it waits for, who holds that, and where it stands."""
    failure = trace_of(philosophers).failure
    assert failure is not None
    assert failure.kind is FailureKind.DEADLOCK
    assert [(wait.task, wait.target, wait.held_by) for wait in failure.waits] == [
        ("a", "lock2", "b"),
        ("b", "lock1", "a"),
    ]
    assert all("kernels.py" in str(wait.where) for wait in failure.waits)


def test_the_wait_for_graph_is_part_of_a_lost_wakeup() -> None:
    """Also what is held by a task that has ended, and what nobody holds."""

    def scenario(rt: ControlledRuntime) -> None:
        lock, event = rt.lock(), rt.event()
        together(rt, lambda: lock.acquire(), event.wait, lambda: lock.acquire())

    failure = trace_of(scenario).failure
    assert failure is not None
    waits = {wait.task: (wait.target, wait.held_by, wait.held_by_ended) for wait in failure.waits}
    assert waits["b"] == ("event1 to be set" if "event1" in waits["b"][0] else waits["b"][0], None, False)
    assert ("lock1", "a", True) in waits.values()


def test_a_wait_that_gave_up_and_the_time_that_passed_are_told() -> None:
    """The step is marked, and the clock is told where it moved."""

    def scenario(rt: ControlledRuntime) -> None:
        queue, event = rt.queue(), rt.event()
        rt.spawn(lambda: queue.qsize(), name="other").join()
        assert event.wait(2.5), "it was set"

    (wait,) = steps_of(trace_of(scenario), "event.wait")
    assert wait.expired
    assert wait.time == 2.5


def test_values_are_read_without_disturbing_the_run() -> None:
    """A value's own ``__repr__`` may take locks and points; it is no part of the run."""

    def scenario(rt: ControlledRuntime) -> None:
        lock, queue, counter = rt.lock(), rt.queue(), Counter()

        class Loud:
            def __repr__(self) -> str:
                with lock:
                    counter.value += 1
                return "Loud()"

        and_join(rt, lambda: queue.put(Loud()), queue.get)
        with lock:
            assert queue.qsize() == 1, "it is there"

    trace = trace_of(scenario)
    shown = [access.value for step in trace.steps for access in step.accesses if access.target == "queue2"]
    assert "[Loud()]" in shown
