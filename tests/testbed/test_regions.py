"""Regions: the grain of a scenario's steps."""

from __future__ import annotations

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import MemoryOrder
from omni_ipc.testbed import ControlledRuntime, Stepper, explore
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.default import DefaultOrder
from tests.testbed.kernels import Counter, and_join, together


def increments(rt: ControlledRuntime) -> int:
    """Add one twice, each time in a region within a region."""
    counter = Counter()
    rt.watch(counter, None, "Counter")

    def add() -> None:
        with rt.region("Add"):
            with rt.region("Read"):
                value = counter.value
            with rt.region("Write"):
                counter.value = value + 1

    and_join(rt, add, add)
    return counter.value


def test_the_outermost_region_is_the_step() -> None:
    """Nobody intervenes between the regions inside it."""
    assert explore(increments).outcomes == ("2",)


def test_a_transparent_region_makes_steps_of_those_inside() -> None:
    """The same code serves a finer spec."""
    report = explore(increments, transparent=["Add"])
    assert report.outcomes == ("1", "2")


def test_the_lock_of_a_transparent_region_is_an_ordinary_lock() -> None:
    """Its acquire and its release are steps; what is inside stays apart."""

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()

        def work() -> None:
            with rt.region("Outer", lock, n=1), rt.region("Inner"):
                pass

        together(rt, work)

    actions = {}
    for transparent in ((), ("Outer",)):
        with Stepper(scenario, transparent=transparent) as stepper:
            actions[transparent] = []
            while offers := stepper.offers():
                actions[transparent].append((offers[0].action, offers[0].fields))
                stepper.take(offers[0].task)
    assert actions[()][1:] == [("Outer", {"n": 1})]
    assert [action for action, _ in actions["Outer",]][1:] == ["lock.acquire", "Inner", "lock.release"]


def test_a_region_waits_for_its_lock_and_gives_it_back_without_a_point() -> None:
    """It is enabled only while the lock is free, and the next step finds the lock free again."""

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()

        def hold() -> None:
            with lock:
                pass

        def enter() -> None:
            with rt.region("Enter", lock):
                pass

        together(rt, hold, enter)

    with Stepper(scenario) as stepper:
        stepper.take("main")
        assert [offer.enabled for offer in stepper.offers()] == [True, True]
        stepper.take("a")
        a, b = stepper.offers()
        assert (a.action, a.enabled) == ("lock.release", True)
        assert (b.action, b.enabled, b.blocked_on) == ("Enter", False, "lock1, which 'a' holds")
        stepper.take("a")
        stepper.take("b")
        assert stepper.offers() == ()


def test_an_operation_that_cannot_go_on_gives_atomicity_up() -> None:
    """Within a region a wait lets others run; what it waits for arrives."""

    def scenario(rt: ControlledRuntime) -> object:
        inbox = rt.queue()

        def take() -> None:
            with rt.region("Take"):
                got.append(inbox.get())

        got: list[object] = []
        and_join(rt, take, lambda: inbox.put("item"))
        return got

    assert explore(scenario, strategy="brute-force").outcomes == ("['item']",)


def test_a_region_may_hold_a_condition_and_wait_for_it() -> None:
    """A wait inside gives the lock back, and has it again when it goes on."""

    def scenario(rt: ControlledRuntime) -> str:
        ready = rt.condition()
        log: list[str] = []

        def wait() -> None:
            with rt.region("Wait", ready):
                while not log:
                    ready.wait()
                log.append("woken")

        def wake() -> None:
            with rt.region("Wake", ready):
                log.append("item")
                ready.notify()

        and_join(rt, wait, wake)
        return ",".join(log)

    assert explore(scenario, strategy="brute-force").outcomes == ("'item,woken'",)


def test_a_region_that_is_left_by_an_exception_gives_its_lock_back() -> None:
    """As a `with` of the lock itself would."""

    def scenario(rt: ControlledRuntime) -> bool:
        lock = rt.lock()
        with pytest.raises(KeyError), rt.region("Fail", lock):
            raise KeyError
        return lock.acquire(blocking=False)

    assert explore(scenario).outcomes == ("True",)


def test_a_lock_of_somebody_else_is_refused() -> None:
    """A region over a lock that is not under control would not be atomic."""

    def scenario(rt: ControlledRuntime) -> str:
        with pytest.raises(UsageError, match=r"rt\.lock\(\)"):
            rt.region("Wrong", object())  # type: ignore[arg-type]
        return "refused"

    assert explore(scenario).outcomes == ("'refused'",)


def test_pending_tells_what_a_task_will_do_next() -> None:
    """The program counter of a projection: action and fields, or None before a task begins and after it ends."""

    def scenario(rt: ControlledRuntime) -> None:
        def work() -> None:
            with rt.region("Work", part=1):
                pass

        rt.spawn(work, name="worker")

    with Stepper(scenario) as stepper:
        rt = stepper.runtime
        assert rt.pending("main") == ("task.spawn", {"task": "worker"})
        assert rt.pending("worker") is None
        stepper.take("main")
        assert rt.pending("worker") == ("Work", {"part": 1})
        stepper.take("worker")
        assert rt.pending("worker") is None


@pytest.mark.parametrize("memory", [MemoryOrder.SC, MemoryOrder.TSO])
def test_a_lock_within_a_region_counts_the_same_whether_somebody_looks_on_or_not(memory: MemoryOrder) -> None:
    """While nobody does, it takes a shorter way; a step still writes the lock, and another one waits for it."""

    def scenario(rt: ControlledRuntime) -> None:
        lock, words = rt.lock(), rt.words(memoryview(bytearray(8)))

        def add() -> None:
            with rt.region("Add"), lock:
                words.store(0, words.load(0) + 1)

        def hold() -> None:
            with lock:
                rt.sleep(0)

        and_join(rt, add, add, hold)
        assert words.load(0) == 2

    with Runner(scenario, memory=memory) as runner:
        unseen = runner.run(DefaultOrder())
        seen = runner.record(unseen.order)
    assert (unseen.order, unseen.reads, unseen.writes) == (seen.order, seen.reads, seen.writes)
    assert unseen.failure is None
    lock = seen.writes[-1] | seen.writes[-2]
    assert sum(bool(writes & lock) for writes in unseen.writes) >= 3


def test_a_lock_that_is_not_held_cannot_be_left_within_a_region() -> None:
    """As it is elsewhere: it tells in the words of the original."""

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()
        with rt.region("Step"), lock:
            lock.release()

    report = explore(scenario)
    assert report.failure is not None
    assert report.failure.message == "RuntimeError: release unlocked lock"
