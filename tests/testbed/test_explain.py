"""Explanations: causes found by experiment, the steps that matter, and sentences that say what happened."""

from __future__ import annotations

import threading
import time
from queue import Empty

import msgspec

from omni_ipc.explanations import Explanation
from omni_ipc.records import Access, Cause, Failure, FailureKind, Origin, Step, Trace
from omni_ipc.testbed import ControlledRuntime, explore, replay
from omni_ipc.testbed.explain import explain
from omni_ipc.testbed.explain.causes import find_causes
from omni_ipc.testbed.explain.conflicts import orders
from omni_ipc.testbed.explain.words import did
from omni_ipc.testbed.faults import SpuriousWakeup
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.traces import trace_of
from tests.testbed.kernels import Counter, and_join, found, lost_update, philosophers
from tests.testbed.test_replay import crowded


def explained(scenario: object) -> Explanation:
    trace = found(scenario).trace  # type: ignore[arg-type]
    assert trace is not None
    return explain(trace)


def actions(explanation: Explanation) -> list[str]:
    steps = explanation.trace.steps
    return [f"{steps[index].task} {steps[index].action}" for index in explanation.matters]


def test_of_a_lost_update_the_reads_and_writes_matter() -> None:
    """Not the four tasks' noise; each read came before the other's write, and either order is a cause."""
    explanation = explained(crowded)
    assert actions(explanation)[-1] == "main field.read"
    own = {f"{task} field.{use}" for task in "ab" for use in ("read", "write")}
    assert set(actions(explanation)) == {*own, "main field.read"}
    assert explanation.about == ("Counter.value",)
    first, second, moral, so = explanation.story
    assert first.startswith("'a' read Counter.value (0, test_replay.py:")
    assert "before 'b' set Counter.value to 1 (test_replay.py:" in first
    assert second.startswith("'b' read Counter.value (0, ")
    assert so.startswith("So 'main' raised AssertionError: an update was lost")
    assert moral == "With either of these orders turned round, it does not fail."


def test_a_cause_is_an_order_without_which_it_does_not_fail() -> None:
    """Written before read is no cause where it is lost all the same: writes in either order overwrite."""

    def scenario(rt: ControlledRuntime) -> None:
        assert lost_update(rt) == 2, "an update was lost"

    trace = explained(scenario).trace
    pairs = [(trace.steps[cause.first].action, trace.steps[cause.second].action) for cause in trace.causes]
    assert pairs == [("field.read", "field.write"), ("field.read", "field.write")]


def test_an_order_of_critical_sections_is_a_cause() -> None:
    """Where each access is under the lock, and the two of one task are not under it together."""

    def scenario(rt: ControlledRuntime) -> None:
        counter, lock = Counter(), rt.lock()

        def add() -> None:
            with lock:
                seen = counter.value
            with lock:
                counter.value = seen + 1

        and_join(rt, add, add)
        assert counter.value == 2, "an update was lost"

    explanation = explained(scenario)
    assert explanation.trace.causes
    assert {explanation.trace.steps[cause.first].action for cause in explanation.trace.causes} == {"lock.acquire"}
    assert " took lock (test_explain.py:" in explanation.story[0]


def test_a_deadlock_is_told_by_who_holds_what_since_when() -> None:
    """And the two acquisitions matter."""
    explanation = explained(philosophers)
    (sentence,) = explanation.story
    assert sentence.startswith("'a' holds lock1 since step 2 (kernels.py:")
    assert "and waits for lock2 (kernels.py:" in sentence
    assert sentence.endswith(": none can go on.")
    assert actions(explanation)[-2:] == ["a lock.acquire", "b lock.acquire"]


def test_a_notification_before_the_wait_is_told() -> None:
    """Who notified, before whom, and that nobody is left."""

    def scenario(rt: ControlledRuntime) -> None:
        condition = rt.condition()

        def notify() -> None:
            with condition:
                condition.notify()

        def wait() -> None:
            with condition:
                condition.wait()

        and_join(rt, notify, wait)

    story = explained(scenario).story
    assert any(
        "'a' notified condition" in sentence and "before 'b' began to wait for" in sentence for sentence in story
    )
    assert any(sentence.startswith("'b' waits for a notification of condition") for sentence in story)


def test_the_lock_around_a_use_is_shown_with_it() -> None:
    """Who held which lock, and who did not, is what a reader asks first."""

    def scenario(rt: ControlledRuntime) -> None:
        counter, lock = Counter(), rt.lock()
        rt.watch(counter, None, "Counter")

        def careful() -> None:
            with lock:
                counter.value += 1

        def careless() -> None:
            counter.value += 1

        and_join(rt, careful, careless)
        assert counter.value == 2, "an update was lost"

    shown = actions(explained(scenario))
    assert shown.index("a lock.acquire") < shown.index("a field.read") < shown.index("a lock.release")


def test_conflicts_leave_out_what_follows_from_others() -> None:
    """Two reads do not conflict, and a use conflicts with the last write before it, not with all."""
    explanation = explained(crowded)
    steps = explanation.trace.steps
    for conflict in explanation.conflicts:
        assert steps[conflict.earlier].task != steps[conflict.later].task
        assert steps[conflict.earlier].action != "field.read" or steps[conflict.later].action != "field.read"
    assert len(explanation.conflicts) <= 4


def test_a_write_conflicts_with_a_read_that_its_own_task_has_read_after() -> None:
    """Two reads are in no order; so nothing of it follows from others. What was written before both does."""
    steps = [
        Step(task, f"item.{'write' if writes else 'read'}", {}, accesses=(Access("dict1", writes, "{}"),))
        for task, writes in [("c", True), ("a", False), ("b", False), ("b", True)]
    ]
    failure = Failure(FailureKind.EXCEPTION, "KeyError: 1", "a")
    explanation = explain(Trace(1, "s", Origin.EXPLORED, tuple(steps), failure=failure, causes=(Cause(1, 3, "dict1"),)))
    assert [(conflict.earlier, conflict.later) for conflict in explanation.conflicts] == [(0, 1), (0, 2), (1, 3)]


def test_of_an_item_the_value_that_is_told_is_that_of_its_container() -> None:
    """And said to be: "set d['a'] to {'a': 1}" would read as if one lay in the other."""

    def scenario() -> None:
        entries: dict[str, list[int]] = {}

        def note() -> None:
            if "a" not in entries:
                entries["a"] = []
            entries["a"].append(1)

        threads = [threading.Thread(target=note, name=name) for name in ("ann", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert entries == {"a": [1, 1]}

    story = " ".join(explained(scenario).story)
    assert "'ann' read entries['a'] (entries = {}, test_explain.py:" in story
    assert "before 'bob' set entries['a'] (entries = {'a': []}, test_explain.py:" in story


def test_a_trace_of_which_nothing_is_known_but_its_steps_is_shown_whole() -> None:
    """As one of a model, or one that an earlier version saved."""
    steps = tuple(Step(task, "Turn") for task in "abab")
    explanation = explain(Trace(version=1, scenario="s", origin=Origin.MODEL, steps=steps))
    assert explanation.matters == (0, 1, 2, 3)
    assert (explanation.conflicts, explanation.story) == ((), ())


def test_a_replay_on_edited_code_finds_the_causes_anew() -> None:
    """The indices of its steps are others."""
    before = found(crowded).trace
    assert before is not None

    def edited(rt: ControlledRuntime) -> None:
        rt.semaphore(1).release()
        crowded(rt)

    stale = msgspec.structs.replace(before, causes=(Cause(0, 1, "nonsense"),))
    after = replay(edited, stale, mode="tolerant").trace
    assert after.causes
    assert all(cause.target == "Counter.value" for cause in after.causes)


def test_a_fault_is_told_and_matters() -> None:
    """What went wrong comes before what came of it."""

    def scenario(rt: ControlledRuntime) -> None:
        condition = rt.condition()

        def wait() -> None:
            with condition:
                assert not condition.wait(timeout=1.0), "woken for nothing"

        rt.spawn(wait, name="waiter").join()

    trace = explore(scenario, faults=[SpuriousWakeup()]).trace
    assert trace is not None
    explanation = explain(trace)
    (fault,) = [index for index, step in enumerate(trace.steps) if step.action == "fault.wake(waiter)"]
    assert explanation.story[0] == f"At step {fault + 1} this went wrong: wake(waiter)."
    assert fault in explanation.matters


def test_accesses_that_race_in_the_failing_schedule_are_steps_of_its_trace() -> None:
    """Also where it failed in the first schedule, before it was known that they race: unmodified code, no runtime."""
    account = Counter()

    def deposit() -> None:
        seen = account.value
        account.value = seen + 1

    def scenario() -> None:
        account.value = 0
        threads = [threading.Thread(target=deposit, name=name) for name in ("alice", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert account.value == 2, "a deposit is lost"

    report = explore(scenario, instrument=["tests.testbed.kernels"])
    assert report.trace is not None
    story = " ".join(explain(report.trace).story)
    assert "'alice' read a Counter.value (0, test_explain.py:" in story
    assert "before 'bob' set a Counter.value to 1 (test_explain.py:" in story
    assert replay(scenario, report.trace).failure == report.failure


def test_a_step_that_was_yet_to_come_may_be_a_cause() -> None:
    """Used before it was made; and what cannot come the other way round, a take before the put, is no cause."""

    def scenario(rt: ControlledRuntime) -> None:
        box, queue = Counter(), rt.queue()
        rt.watch(box, None, "Box")

        def produce() -> None:
            queue.put("ready")
            box.value = 1

        def consume() -> None:
            queue.get()
            assert box.value == 1, "too early"

        and_join(rt, produce, consume)

    explanation = explained(scenario)
    (cause,) = explanation.trace.causes
    assert cause.target == "Box.value"
    assert cause.second >= len(explanation.trace.steps)
    first, moral, _ = explanation.story
    assert first.startswith("'b' read Box.value (0, test_explain.py:")
    assert "before 'a' set Box.value" in first
    assert first.endswith(", which it had yet to do.")
    assert moral == "The other way round, it does not fail."


def test_without_a_cause_all_that_tasks_share_matters() -> None:
    """Nothing that may have to do with it is left out."""
    trace = found(crowded).trace
    assert trace is not None
    explanation = explain(msgspec.structs.replace(trace, causes=()))
    assert explanation.about == ("Counter.value",)
    (sentence,) = explanation.story
    assert sentence.startswith("No order of two steps was found with which it would not fail")
    assert {"a field.read", "b field.write"} <= set(actions(explanation))


def test_what_only_goes_with_the_cause_is_no_cause() -> None:
    """Who is held up until an event is set takes the lock later, too; the lock can be taken later without that."""

    def scenario(rt: ControlledRuntime) -> None:
        lock, done, taken = rt.lock(), rt.event(), []

        def first() -> None:
            with lock:
                taken.append("first")
            done.set()

        def second() -> None:
            done.is_set()
            with lock:
                taken.append("second")

        and_join(rt, first, second)
        assert taken == ["first", "second"]

    trace = explained(scenario).trace
    assert [(cause.target, trace.steps[cause.first].action) for cause in trace.causes] == [("lock", "lock.acquire")]


def test_a_field_that_is_called_clock_is_data() -> None:
    """What orders steps is told by the names that the runtime gives, and not by a word in somebody's own."""
    for data in ("Clock.value", "Block.locked", "Pump.loop", "block2", "words1[3]", "dict1['lock1']"):
        assert not orders(data), data
    for order in ("lock1", "a.rlock2", "condition3", "the end of 'Clock'", "the waiters of condition1", "task 'a'"):
        assert orders(order), order
    assert orders("lock1 and 2 more")


def test_two_orders_may_be_the_cause_together() -> None:
    """Each of them alone leaves the other update lost."""

    def scenario(rt: ControlledRuntime) -> None:
        left, right = Counter(), Counter()
        rt.watch(left, None, "Left")
        rt.watch(right, None, "Right")

        def slow() -> None:
            seen = left.value, right.value
            left.value, right.value = seen[0] + 1, seen[1] + 1

        def quick() -> None:
            left.value += 1
            right.value += 1

        and_join(rt, slow, quick)
        assert (left.value, right.value) == (2, 2), "an update was lost"

    with Runner(scenario) as runner:
        run = runner.record([0, 1, 1, 2, 2, 2, 2])
        assert run.failure is not None
        trace = trace_of(run, "s", causes=find_causes(runner, run))
    assert [(cause.target, cause.jointly) for cause in trace.causes] == [("Left.value", True), ("Right.value", True)]
    assert explain(trace).story[2] == (
        "With one of these orders turned round, it fails all the same; with both, it does not."
    )


def test_a_failure_of_every_order_is_said_to_have_none_as_its_cause() -> None:
    """Rather than nothing, of which nobody knows what it means."""

    def scenario(rt: ControlledRuntime) -> None:
        assert lost_update(rt) == 3, "never"

    assert explained(scenario).story == (
        "No order of two steps was found with which it would not fail, nor two such orders together.",
    )


def test_nobody_is_told_to_hold_the_end_of_a_task() -> None:
    """Who waits for the end of one that never ends, or that waits itself, waits for just that."""

    def polled() -> None:
        def work() -> None:
            while True:
                time.sleep(1.0)

        thread = threading.Thread(target=work, name="work")
        thread.start()
        thread.join()

    def locked() -> None:
        lock = threading.Lock()
        thread = threading.Thread(target=lock.acquire, name="work")
        with lock:
            thread.start()
            thread.join()

    for scenario in (polled, locked):
        told = " ".join(explained(scenario).story)
        assert "waits for the end of 'work'" in told
        assert "holds the end" not in told
        assert "which 'work' holds" not in told


def test_who_waits_for_a_full_queue_is_told_that_it_is_full() -> None:
    """Not only its name."""

    def scenario(rt: ControlledRuntime) -> None:
        queue = rt.queue(1)
        queue.put(1)
        rt.spawn(queue.put, 2, name="putter").join()

    assert explained(scenario).story[-1] == "'putter' waits for queue, which is full, and nobody is left to wake it."


def test_a_fault_has_words_of_its_own() -> None:
    """It is no task that does something, and waits for nothing once it has come."""

    def scenario(rt: ControlledRuntime) -> None:
        future = rt.future()
        rt.spawn(future.set_result, 1, name="answerer")
        future.result()

    trace = explore(scenario, faults=["cancel"]).trace
    assert trace is not None
    explanation = explain(trace)
    assert any(sentence.startswith("The fault cancel(future1) came before ") for sentence in explanation.story)
    reasons = [step.switch.reason for step in explanation.trace.steps if step.switch is not None]
    assert "'cancel(future1)' has happened" in reasons
    assert not [reason for reason in reasons if "waits for time" in reason]


def test_who_gives_up_is_told_on_what() -> None:
    """In the words for what was waited for, and not in those of a call."""

    def scenario(rt: ControlledRuntime) -> None:
        answer = rt.queue()

        def put() -> None:
            rt.sleep(2)
            answer.put(1)

        putter = rt.spawn(put, name="putter")
        try:
            answer.get(timeout=1)
        except Empty:
            putter.join()
            raise AssertionError("too late") from None
        putter.join()

    trace = explore(scenario).trace
    assert trace is not None
    assert did(explain(trace).trace.steps[[step.expired for step in trace.steps].index(True)]).startswith(
        "'main' gave up on answer ("
    )


def test_a_task_that_comes_between_with_many_steps_is_the_cause_as_a_whole() -> None:
    """Held up until the first of its writes, the update would be lost to the second one."""

    def scenario(rt: ControlledRuntime) -> None:
        counter = Counter()
        rt.watch(counter, None, "Counter")

        def add() -> None:
            for _ in range(12):
                counter.value += 1

        and_join(rt, add, add)
        assert counter.value == 24, "an update was lost"

    with Runner(scenario) as runner:
        run = runner.record([0, 1, *[2] * 24, *[1] * 23])
        causes = find_causes(runner, run)
    assert [(run.steps[cause.first].action, run.steps[cause.second].action) for cause in causes] == [
        ("field.read", "field.write"),
        ("field.read", "field.write"),
    ]


def test_a_traceback_shows_lines_of_the_code_and_not_of_the_library_between() -> None:
    """How threading calls a function is of no interest to anybody."""

    def scenario() -> None:
        thread = threading.Thread(target=lambda: [].pop(), name="worker")
        thread.start()
        thread.join()

    failure = explore(scenario).failure
    assert failure is not None
    assert failure.task == "worker"
    assert not [line for line in failure.details if "threading.py" in line]
    assert "[].pop()" in "".join(failure.details)
