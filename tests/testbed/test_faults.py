"""Faults as choices: each kind finds the code that does not expect it, and lets the corrected twin hold."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, InvalidStateError

import pytest

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import FailureKind, Report, Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.testbed.faults import Cancel, EarlyTimers, Fault, Hook, Kill, LateMessage, SpuriousWakeup, parse
from tests.testbed.kernels import and_join, found


def caught(scenario: Callable[..., object], *faults: Fault) -> Report:
    """Check that a scenario holds by itself, and fails with the faults; what is found also replays and shrinks."""
    assert explore(scenario, declared=True).verdict is Verdict.HOLDS
    return found(scenario, faults=faults, declared=True)


def held(scenario: Callable[..., object], *faults: Fault) -> Report:
    """Check that a scenario holds in spite of the faults."""
    report = explore(scenario, faults=faults, declared=True)
    assert report.verdict is Verdict.HOLDS, report.reason
    return report


@pytest.mark.parametrize(
    ("there", "misspelt"),
    [
        (Kill("worker", 2), Kill("wroker", 2)),
        (Cancel("future3"), Cancel("future33")),
        (LateMessage("queue2"), LateMessage("queue22")),
        (Hook("full"), Hook("ful")),
    ],
)
def test_a_fault_of_a_name_that_nothing_has_is_told(there: Fault, misspelt: Fault) -> None:
    """What holds in spite of it holds without it: so the report says that it was never possible."""

    def scenario(rt: ControlledRuntime) -> None:
        rt.lock()
        box, _ = rt.queue(), rt.future()

        def work() -> None:
            rt.fault("full")
            box.put(1)

        rt.spawn(work, name="worker").join()

    assert not [note for note in held(scenario, there).notes if "never possible" in note]
    (note,) = held(scenario, misspelt).notes
    assert note.startswith(f"{misspelt} was never possible: there was nothing of that name in any schedule.")


def test_who_waits_for_a_lock_of_a_process_that_was_killed_is_told_who_took_it_along() -> None:
    """Its lock stays locked, and no `finally` gives it back: a death that nobody looks for is a lost wake-up."""

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()

        def work() -> None:
            with lock:
                rt.sleep(1.0)

        task = rt.process("worker").spawn(work, name="worker.main")
        task.join()
        lock.acquire()

    report = caught(scenario, Kill("worker"))
    assert report.failure is not None
    assert report.failure.kind is FailureKind.LOST_WAKEUP
    assert "lock1, which 'worker.main' has left locked" in report.failure.message
    assert report.trace is not None
    assert "fault.kill(worker)" in [step.action for step in report.trace.steps]
    assert report.trace.faults == ("kill:worker",)


def test_nothing_that_a_killed_process_would_have_done_is_seen() -> None:
    """Each prefix of its steps is among the outcomes, with no cleaning up behind it; the whole process dies at once.

    So is all that it does: it may be killed when nothing is left for it but to end.
    """

    def scenario(rt: ControlledRuntime) -> tuple[str | None, list[str]]:
        process, log = rt.process("worker"), rt.queue()
        noted: list[str] = []

        def help_out() -> None:
            rt.sleep(5.0)
            noted.append("helped")

        def work() -> None:
            try:
                log.put("a")
                helper = rt.spawn(help_out, name="worker.helper")
                log.put("b")
                helper.join()
            finally:
                noted.append("cleaned up")

        process.spawn(work, name="worker.main")
        process.join()
        return process.ending(), [log.get() for _ in range(log.qsize())] + noted

    outcomes = set(held(scenario, Kill("worker")).outcomes)
    killed = "('killed by SIGKILL', {})"
    assert outcomes == {
        killed.format([]),
        killed.format(["a"]),
        killed.format(["a", "b"]),
        killed.format(["a", "b", "helped"]),
        killed.format(["a", "b", "helped", "cleaned up"]),
        "('it ended with exit status 0', ['a', 'b', 'helped', 'cleaned up'])",
    }


def test_a_thread_plays_a_process_and_is_killed_as_one() -> None:
    """Code that knows no runtime needs no change: a thread is named, and whoever joins it looks at what it left."""

    def scenario(careful: bool) -> None:
        results: queue.Queue[str] = queue.Queue()
        worker = threading.Thread(target=lambda: results.put("done"), name="worker")
        worker.start()
        worker.join()
        if careful and results.empty():
            return
        results.get()

    caught(lambda: scenario(careful=False), Kill("worker"))
    held(lambda: scenario(careful=True), Kill("worker"))


def test_a_process_that_is_started_anew_is_killed_as_often_as_is_allowed() -> None:
    """A supervisor that allows for one death meets two."""

    def scenario(rt: ControlledRuntime, most: int) -> None:
        process = rt.process("worker")
        for number in range(most + 1):
            process.spawn(lambda: rt.sleep(1.0), name=f"worker.{number}").join()
            if process.ending() != "killed by SIGKILL":
                return
        raise RuntimeError("gave up")

    held(lambda rt: scenario(rt, 1), Kill("worker"))
    caught(lambda rt: scenario(rt, 1), Kill("worker", 2))
    held(lambda rt: scenario(rt, 2), Kill("worker", 2))


def waiting(rt: ControlledRuntime, *, anew: bool) -> None:
    """Take an item once it is there, with a look at the state before the wait, or before and after it."""
    items: list[int] = []
    ready = rt.condition()

    def take() -> None:
        with ready:
            if anew:
                while not items:
                    ready.wait()
            elif not items:
                ready.wait()
            items.pop()

    def give() -> None:
        with ready:
            items.append(1)
            ready.notify()

    and_join(rt, take, give)


def test_an_if_where_a_while_is_needed_is_found_by_a_wake_up_without_a_reason() -> None:
    """One notifier and one waiter never show it."""
    failure = caught(lambda rt: waiting(rt, anew=False), SpuriousWakeup()).failure
    assert failure is not None
    assert failure.message == "IndexError: pop from empty list"
    held(lambda rt: waiting(rt, anew=True), SpuriousWakeup(2))


def test_a_sleep_on_a_word_may_end_early() -> None:
    """The contract says so: who does not look again has nothing."""

    def scenario(rt: ControlledRuntime, again: bool) -> None:
        words = rt.words(memoryview(bytearray(8)))

        def tell() -> None:
            words.store(0, 1)
            words.wake(0)

        rt.spawn(tell, name="teller")
        words.wait(0, 0, timeout=1e6)
        while again and words.load(0) == 0:
            words.wait(0, 0, timeout=1e6)
        assert words.load(0) == 1

    caught(lambda rt: scenario(rt, False), SpuriousWakeup())
    held(lambda rt: scenario(rt, True), SpuriousWakeup())


def settling(rt: ControlledRuntime, *, careful: bool) -> object:
    """Settle a future that somebody may give up on meanwhile."""
    future = rt.future()
    told: list[str] = []
    future.add_done_callback(lambda _: told.append("told"))

    def settle() -> None:
        try:
            future.set_result("result")
        except InvalidStateError:
            if not careful:
                raise

    task = rt.spawn(settle, name="settler")
    try:
        result = future.result()
    except CancelledError:
        result = "cancelled"
    task.join()
    return result


def test_a_result_for_a_future_that_was_cancelled_is_found() -> None:
    """Between the look and the settling, as in the field; the careful twin meets both outcomes."""
    failure = caught(lambda rt: settling(rt, careful=False), Cancel()).failure
    assert failure is not None
    assert "InvalidStateError" in failure.message
    report = held(lambda rt: settling(rt, careful=True), Cancel("future1"))
    assert set(report.outcomes) == {"'result'", "'cancelled'"}
    assert held(lambda rt: settling(rt, careful=False), Cancel("another")).traces == 1


def cancelled_holding(*, careful: bool) -> None:
    """Hold an asyncio lock over an await, and look at it after the task has ended."""

    async def main() -> None:
        lock = asyncio.Lock()

        async def work() -> None:
            if careful:
                async with lock:
                    await asyncio.sleep(0.1)
            else:
                await lock.acquire()
                await asyncio.sleep(0.1)
                lock.release()

        task = asyncio.create_task(work(), name="work")
        await asyncio.wait([task])
        assert not lock.locked(), "left locked"

    asyncio.run(main())


def test_an_asyncio_task_is_cancelled_at_any_of_its_awaits() -> None:
    """What it holds then must be given back; the task that the loop runs for is spared."""
    failure = caught(lambda: cancelled_holding(careful=False), Cancel("work")).failure
    assert failure is not None
    assert "left locked" in failure.message
    held(lambda: cancelled_holding(careful=True), Cancel())


def awaiting_a_future(*, careful: bool = True) -> str:
    """Await a future of the loop that a thread settles."""

    async def main() -> str:
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def settle() -> None:
            if not (careful and future.done()):
                future.set_result("result")

        settler = threading.Thread(target=lambda: loop.call_soon_threadsafe(settle), name="settler")
        settler.start()
        try:
            return str(await future)
        except asyncio.CancelledError:
            return "cancelled"
        finally:
            settler.join()

    return asyncio.run(main())


def test_a_future_of_a_loop_is_cancelled_and_its_result_comes_all_the_same() -> None:
    """As where a wait was given up on; those that asyncio makes for itself are left alone."""
    failure = caught(lambda: awaiting_a_future(careful=False), Cancel()).failure
    assert failure is not None
    assert "InvalidStateError" in failure.message
    assert set(held(awaiting_a_future, Cancel("Future-1")).outcomes) == {"'result'", "'cancelled'"}


def test_the_task_that_a_loop_runs_for_is_cancelled_if_it_is_named() -> None:
    """At its awaits; not before its first step, nor what asyncio closes the loop down with, which nobody can mend."""
    assert set(held(awaiting_a_future, Cancel("Task-1")).outcomes) == {"'result'", "'cancelled'"}
    for other in ("Task-2", "Task-3"):
        assert held(awaiting_a_future, Cancel(other)).outcomes == ("'result'",)


def test_the_name_that_a_task_was_given_is_that_of_its_cancellation() -> None:
    """In traces and where it is asked for; some versions of asyncio give it only after the task was made."""
    for fault in (Cancel(), Cancel("work")):
        trace = caught(lambda: cancelled_holding(careful=False), fault).trace
        assert trace is not None
        assert [step.task for step in trace.steps if step.action.startswith("fault.")] == ["cancel(work)"]
        assert {step.fields.get("callback") for step in trace.steps} >= {"work", "work: cancel()"}
    assert not held(lambda: cancelled_holding(careful=True), Cancel("work")).notes


@pytest.mark.parametrize("fault", [Cancel(), LateMessage(), SpuriousWakeup()])
def test_a_fault_that_had_nothing_to_strike_is_told(fault: Fault) -> None:
    """Also if it was to strike anything: who reads that it holds with cancellations would believe it."""

    def scenario() -> None:
        asyncio.run(asyncio.sleep(0))
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()

    (note,) = held(scenario, fault).notes
    assert note.startswith(f"{fault} was never possible: ")
    assert ("cancel:Task-1" in note) == isinstance(fault, Cancel)


def test_a_message_that_comes_late_may_be_overtaken() -> None:
    """A reader that relies on the order of two puts is found; one that sorts them out holds."""

    def scenario(rt: ControlledRuntime, sort: bool) -> None:
        inbox = rt.queue()

        def send() -> None:
            inbox.put(1)
            inbox.put(2)

        rt.spawn(send, name="sender")
        received = [inbox.get(), inbox.get()]
        assert (sorted(received) if sort else received) == [1, 2]

    caught(lambda rt: scenario(rt, False), LateMessage())
    held(lambda rt: scenario(rt, True), LateMessage("queue1"))


def test_what_a_fault_sets_going_is_no_thread() -> None:
    """A message that is under way is not counted as one."""

    def scenario() -> int:
        inbox: queue.Queue[int] = queue.Queue()
        inbox.put(1)
        return threading.active_count()

    report = explore(scenario, faults=[LateMessage()])
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("1",))


def test_memory_is_full_wherever_the_code_asks_for_it() -> None:
    """An allocation that fails in the middle leaves a half-made thing behind, unless somebody takes it back."""

    def scenario(rt: ControlledRuntime, careful: bool) -> object:
        held: list[str] = []

        def loan(name: str) -> None:
            if rt.fault("memory full"):
                raise MemoryError
            held.append(name)

        def both() -> None:
            try:
                loan("first")
                loan("second")
            except MemoryError:
                if careful:
                    held.clear()

        rt.spawn(both, name="worker").join()
        assert held in ([], ["first", "second"]), held
        return tuple(held)

    caught(lambda rt: scenario(rt, False), Hook("memory full"))
    assert set(held(lambda rt: scenario(rt, True), Hook("memory full")).outcomes) == {"()", "('first', 'second')"}
    assert held(lambda rt: scenario(rt, False), Hook("disk full")).outcomes == ("('first', 'second')",)


def asking(rt: ControlledRuntime, *, careful: bool) -> None:
    """Give up on an answer after a second, and go on to the next question."""
    answers = rt.queue()

    def answer() -> None:
        answers.put(1)
        answers.put(2)

    rt.spawn(answer, name="peer")
    try:
        first = answers.get(timeout=1.0)
    except queue.Empty:
        first = None
    second = answers.get()
    while careful and first is None and second != 2:
        second = answers.get()
    assert second == 2


def test_a_time_out_that_races_with_the_answer_is_found() -> None:
    """The answer of the first question is taken for that of the second; in virtual time it always comes in time."""
    report = found(lambda rt: asking(rt, careful=False), timers="explored")
    assert report.trace is not None
    assert "time.passes" in [step.action for step in report.trace.steps]
    assert explore(lambda rt: asking(rt, careful=False)).verdict is Verdict.HOLDS
    assert explore(lambda rt: asking(rt, careful=True), timers="explored").verdict is Verdict.HOLDS


def test_a_loop_with_a_time_out_makes_explored_timers_a_bound() -> None:
    """Time passes early so many times only, and the report says that this left something out."""

    def scenario(rt: ControlledRuntime) -> None:
        stop = rt.event()

        def poll() -> None:
            while not stop.wait(timeout=1.0):
                pass

        poller = rt.spawn(poll, name="poller")
        stop.set()
        poller.join()

    report = explore(scenario, timers="explored")
    assert report.verdict is Verdict.BOUNDED
    assert "time passed early 2 times in a run at most" in report.reason
    assert explore(scenario, faults=[EarlyTimers(1)]).verdict is Verdict.BOUNDED


def test_time_never_goes_back_and_passes_no_deadline_over() -> None:
    """However early it passes, sleepers wake in the order of their deadlines."""

    def scenario(rt: ControlledRuntime) -> tuple[float, ...]:
        woken: list[float] = []

        def sleep(seconds: float) -> None:
            rt.sleep(seconds)
            woken.append(rt.now())

        with rt.region("Start"):
            tasks = [rt.spawn(sleep, seconds, name=f"sleeper {seconds}") for seconds in (3.0, 1.0, 2.0)]
        for task in tasks:
            task.join()
        assert woken == sorted(woken)
        return tuple(woken)

    report = explore(scenario, timers="explored", strategy="dpor")
    assert report.verdict is not Verdict.VIOLATED
    assert "(1.0, 2.0, 3.0)" in report.outcomes


@pytest.mark.parametrize(
    "fault",
    [
        Kill("worker"),
        Kill("worker", 2),
        SpuriousWakeup(),
        Cancel(),
        Cancel("future2", 3),
        LateMessage("queue1"),
        Hook("memory full"),
        EarlyTimers(2),
    ],
)
def test_a_fault_is_read_as_it_is_written(fault: Fault) -> None:
    """Traces and the command line hold faults as text."""
    assert parse(str(fault)) == fault


@pytest.mark.parametrize(
    "text", ["kill", "kill:", "kill:main", "hook", "spurious:x", "kill:a,0", "kill:a,x", "late,-1"]
)
def test_a_fault_that_makes_no_sense_is_refused(text: str) -> None:
    """With the literal thing to write instead."""
    with pytest.raises(UsageError, match=r"[Ww]rite|[Nn]ame"):
        parse(text)


def test_an_unknown_fault_or_way_of_timers_is_refused() -> None:
    """The nearest name is told."""
    with pytest.raises(UnknownName, match="Did you mean 'kill'"):
        parse("kil:worker")
    with pytest.raises(UnknownName, match="Did you mean 'explored'"):
        explore(lambda rt: None, timers="explore")
