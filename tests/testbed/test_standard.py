"""Code that uses the standard library as anybody would runs under control, and finds what it is to find."""

from __future__ import annotations

import _thread
import concurrent.futures
import datetime
import functools
import queue
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, Thread
from time import monotonic

import pytest

from omni_ipc.records import FailureKind, Report, Verdict
from omni_ipc.testbed import ControlledRuntime, Stepper, explore, replay
from tests.testbed.kernels import is_well


def outcomes(scenario: functools.partial[object] | object) -> set[str]:
    """Explore all schedules of a scenario that holds, and return what it can come to."""
    report = explore(scenario, strategy="depth-first", declared=True)  # type: ignore[arg-type]
    assert is_well(report), report.reason
    return set(report.outcomes)


def failing(scenario: object) -> Report:
    """Explore a scenario that fails; what is found must also replay."""
    report = explore(scenario, declared=True)  # type: ignore[arg-type]
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert report.trace is not None
    again = replay(scenario, report.trace)  # type: ignore[arg-type]
    assert again.diverged is None
    assert again.failure == report.failure
    return report


class Counter:
    """Counts under a lock that it was given a name for in the class."""

    make_lock = Lock

    def __init__(self, make: object = threading.Condition) -> None:
        self.lock = self.make_lock()
        self.condition = make()  # type: ignore[operator]
        self.count = 0

    def add(self) -> None:
        with self.lock:
            self.count += 1


class Worker(Thread):
    """A thread of a class that was defined before the exploration."""

    def __init__(self, inbox: queue.Queue[int | None]) -> None:
        super().__init__(name="worker")
        self.inbox = inbox
        self.got: list[int] = []

    def run(self) -> None:
        for item in iter(self.inbox.get, None):
            self.got.append(item)


def test_threads_locks_and_queues_need_no_runtime() -> None:
    """Classes, subclasses, and names that were bound before all lead to what is under control."""

    def scenario(rt: ControlledRuntime) -> object:
        counter = Counter()
        inbox: queue.Queue[int | None] = queue.Queue(1)
        worker = Worker(inbox)
        worker.start()
        threads = [Thread(target=counter.add) for _ in range(2)]
        for thread in threads:
            thread.start()
        for item in (1, 2, None):
            inbox.put(item)
        for thread in (*threads, worker):
            thread.join()
        assert isinstance(worker, threading.Thread)
        assert isinstance(inbox, queue.Queue)
        assert isinstance(counter.condition, threading.Condition)
        return counter.count, worker.got, monotonic()

    assert outcomes(scenario) == {"(2, [1, 2], 0.0)"}


def test_both_orders_of_two_threads_are_seen() -> None:
    """The exploration decides who comes first."""

    def scenario(rt: ControlledRuntime) -> list[int]:
        arrived: queue.Queue[int] = queue.Queue()
        threads = [Thread(target=arrived.put, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        return [arrived.get(), arrived.get()]

    assert outcomes(scenario) == {"[0, 1]", "[1, 0]"}


def test_an_exception_in_a_thread_fails_the_run() -> None:
    """It is told with the name of the thread and the line; real threads would only print it."""

    def fail() -> None:
        raise KeyError("lost")

    def scenario(rt: ControlledRuntime) -> None:
        Thread(target=fail, name="failing").start()

    failure = failing(scenario).failure
    assert failure is not None
    assert (failure.kind, failure.task, failure.message) == (FailureKind.EXCEPTION, "failing", "KeyError: 'lost'")
    assert failure.where is not None
    assert failure.where.startswith("test_standard.py:")


def test_locks_taken_in_two_orders_are_a_deadlock() -> None:
    """Also by `acquire()`, where a third task might release them: then once nobody can go on."""

    def dine(first: threading.Lock, second: threading.Lock) -> None:
        first.acquire()
        second.acquire()
        second.release()
        first.release()

    def scenario(rt: ControlledRuntime) -> None:
        left, right = Lock(), Lock()
        for forks in ((left, right), (right, left)):
            Thread(target=dine, args=forks).start()

    failure = failing(scenario).failure
    assert failure is not None
    assert failure.kind is FailureKind.DEADLOCK


def test_a_cycle_of_plain_locks_that_a_third_thread_breaks_is_none() -> None:
    """Whoever may release a lock is waited for."""

    def take(first: threading.Lock, second: threading.Lock) -> None:
        first.acquire()
        second.acquire()

    def scenario(rt: ControlledRuntime) -> str:
        left, right, done = Lock(), Lock(), Lock()
        threads = [Thread(target=take, args=forks) for forks in ((left, right), (right, left))]
        for thread in threads:
            thread.start()

        def free() -> None:
            with done:
                time.sleep(1.0)
                for lock in (left, right):
                    if lock.locked():
                        lock.release()

        freer = Thread(target=free)
        freer.start()
        for thread in (*threads, freer):
            thread.join()
        return "done"

    report = explore(scenario, strategy="random", runs=200, declared=True)
    assert report.verdict is Verdict.BOUNDED, report.reason


def test_a_pulse_wakes_who_sleeps_and_not_who_comes_later() -> None:
    """Both are seen; a wait that comes too late is a lost wake-up."""

    def scenario(rt: ControlledRuntime) -> bool:
        event = threading.Event()
        woken: list[bool] = []
        thread = Thread(target=lambda: woken.append(event.wait(timeout=5)))
        thread.start()
        event.set()
        event.clear()
        thread.join()
        return woken[0]

    assert outcomes(scenario) == {"True", "False"}

    def endless(rt: ControlledRuntime) -> None:
        event = threading.Event()
        Thread(target=event.wait, name="waiter").start()
        event.set()
        event.clear()

    failure = failing(endless).failure
    assert failure is not None
    assert failure.task == "waiter"


def test_a_notification_is_spent_on_a_waiter_whose_time_is_up() -> None:
    """It is on the list until it has the lock again, and its wait is false; so another one waits for ever."""

    def scenario() -> None:
        condition, items = threading.Condition(), list[int]()

        def pass_on() -> None:
            with condition:
                if not items and condition.wait(1):
                    condition.notify()

        def take() -> None:
            with condition:
                while not items:
                    condition.wait()

        def put() -> None:
            time.sleep(1)
            with condition:
                items.append(1)
                condition.notify()

        threads = [Thread(target=body) for body in (pass_on, take, put)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    report = failing(scenario)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.LOST_WAKEUP


def test_a_wait_for_no_time_lets_others_have_the_lock() -> None:
    """It waits once, as the library does, and asks again."""

    def scenario() -> bool:
        condition, box = threading.Condition(), list[int]()

        def put() -> None:
            with condition:
                box.append(1)

        with condition:
            thread = Thread(target=put)
            thread.start()
            got = bool(condition.wait_for(lambda: box, timeout=0))
        thread.join()
        return got

    assert outcomes(scenario) == {"True", "False"}


def test_the_time_limit_of_a_queue_does_not_count_while_somebody_holds_its_lock() -> None:
    """Who gets looks once it has the lock, waits within the limit, and looks again once it has the lock again."""

    def scenario(rt: ControlledRuntime, late: float) -> object:
        box: queue.Queue[int] = queue.Queue()
        mutex = box.mutex

        def put() -> None:
            with mutex:
                time.sleep(2)
                if not late:
                    box.queue.append(1)
            if late:
                time.sleep(late)
                box.put(1)

        thread = Thread(target=put)
        thread.start()
        try:
            return box.get(timeout=1)
        except queue.Empty:
            return time.monotonic()
        finally:
            thread.join()

    assert outcomes(functools.partial(scenario, late=0.0)) == {"1"}
    assert outcomes(functools.partial(scenario, late=0.5)) == {"1", "2.0"}
    assert outcomes(functools.partial(scenario, late=1.5)) == {"2.0", "3.0"}


def refused(act: Callable[[], object]) -> bool:
    """Tell whether something is refused."""
    try:
        act()
    except RuntimeError:
        return True
    return False


@pytest.mark.parametrize("make", [Lock, threading.RLock])
@pytest.mark.parametrize("use", [lambda held: held.wait(1), lambda held: held.notify(), lambda held: held.notify_all()])
def test_a_condition_asks_for_its_lock_when_it_is_used(
    make: Callable[[], Lock], use: Callable[[threading.Condition], object]
) -> None:
    """A plain one may be held by anybody by then, and a reentrant one by its user only."""

    def scenario(rt: ControlledRuntime) -> bool:
        condition, came = threading.Condition(make()), list[bool]()
        ask = functools.partial(use, condition)
        threads = [Thread(target=condition.acquire), Thread(target=lambda: came.append(refused(ask)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return came[0]

    assert outcomes(scenario) == ({"False", "True"} if make is Lock else {"True"})


@pytest.mark.parametrize("late", [False, True])
def test_who_joins_a_thread_that_another_one_starts_may_come_before_the_start(late: bool) -> None:
    """Or after it, whatever the joiner does before."""

    def scenario(rt: ControlledRuntime) -> bool:
        gate, came = threading.Event(), list[bool]()
        started = Thread(target=gate.is_set)

        def join() -> None:
            if late:
                gate.is_set()
            came.append(refused(started.join))

        joiner = Thread(target=join)
        joiner.start()
        started.start()
        for thread in (joiner, started):
            thread.join()
        return came[0]

    assert outcomes(scenario) == {"False", "True"}


def test_sets_of_threads_and_futures_have_the_same_order_in_each_run() -> None:
    """Memory addresses do not decide who is joined first."""

    def scenario(rt: ControlledRuntime) -> list[str]:
        threads = {Thread(target=Lock().locked) for _ in range(5)}
        futures = {concurrent.futures.Future[int]() for _ in range(5)}
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [each.name for each in (*threads, *futures)]  # type: ignore[attr-defined]

    assert len(explore(scenario, strategy="random", runs=50, declared=True).outcomes) == 1


def test_threads_that_are_counted_are_told_apart() -> None:
    """How many live depends on who has ended."""

    def scenario(rt: ControlledRuntime) -> int:
        Thread(target=Lock().acquire).start()
        return threading.active_count()

    assert outcomes(scenario) == {"1", "2"}


def test_a_thread_lives_on_for_a_while_after_its_last_step() -> None:
    """Who finds a worker alive that is about to end hands it what nobody takes any more."""

    def scenario(rt: ControlledRuntime) -> tuple[bool, bool]:
        done = threading.Event()
        thread = Thread(target=done.set)
        thread.start()
        return done.is_set(), thread.is_alive()

    assert outcomes(scenario) == {"(False, False)", "(False, True)", "(True, False)", "(True, True)"}


def test_daemons_and_idle_workers_do_not_outlive_the_process() -> None:
    """They end with it, as real ones do; other threads are waited for."""
    seen: list[str] = []

    def late() -> None:
        time.sleep(2.0)
        seen.append("late")

    def scenario(rt: ControlledRuntime) -> object:
        seen.clear()
        Thread(target=threading.Event().wait, daemon=True).start()
        Thread(target=late).start()
        return ThreadPoolExecutor(1).submit(pow, 2, 3).result()

    assert outcomes(scenario) == {"8"}
    assert seen == ["late"]

    def leaking(rt: ControlledRuntime) -> None:
        Thread(target=threading.Event().wait, name="left").start()

    failure = failing(leaking).failure
    assert failure is not None
    assert (failure.kind, failure.task) == (FailureKind.LEAK, "left")


def test_threads_of_the_same_name_are_told_apart_in_the_trace() -> None:
    """Names of threads need not differ; those of tasks do."""

    def fail() -> None:
        threading.Event().is_set()
        raise ValueError(threading.current_thread().name)

    def scenario(rt: ControlledRuntime) -> None:
        Thread(target=threading.Event().is_set, name="same").start()
        Thread(target=fail, name="same").start()

    failure = failing(scenario).failure
    assert failure is not None
    assert (failure.task, failure.message) == ("same#2", "ValueError: same")


def test_a_loop_on_the_clock_comes_to_its_end() -> None:
    """Code that waits by looking at the clock lets others go first, and time pass."""

    def scenario(rt: ControlledRuntime) -> tuple[bool, bool]:
        event = threading.Event()

        def set_later() -> None:
            time.sleep(3600.0)
            event.set()

        thread = Thread(target=set_later)
        thread.start()
        end = time.monotonic() + 7200.0
        while time.monotonic() <= end and not event.is_set():
            pass
        thread.join()
        return event.is_set(), time.monotonic() < end

    report = explore(scenario, runs=1, declared=True)
    assert report.outcomes == ("(True, True)",)


def test_who_sleeps_for_no_time_may_go_on_first() -> None:
    """It gives others a chance, and no more."""

    def scenario() -> str:
        seen: list[str] = []

        def late() -> None:
            time.sleep(0)
            seen.append("a")

        threads = [Thread(target=late), Thread(target=lambda: seen.append("b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return "".join(seen)

    assert outcomes(scenario) == {"'ab'", "'ba'"}


@pytest.mark.parametrize("strategy", ["dpor", "random"])
def test_who_polls_without_sleeping_comes_to_an_end(strategy: str) -> None:
    """Others get their chance after a few times; and what is left out so is told."""

    def scenario() -> int:
        done, polls = threading.Event(), 0
        thread = Thread(target=done.set)
        thread.start()
        while not done.is_set():
            time.sleep(0)
            polls += 1
        thread.join()
        return polls

    report = explore(scenario, strategy=strategy, declared=True)
    assert report.verdict is Verdict.BOUNDED, report.reason
    assert {"0", "1", "5"} <= set(report.outcomes) <= set("0123456")
    if strategy == "dpor":
        assert report.reason.endswith("tasks that slept for no time 5 times on end let all others go on first")


def test_time_begins_anew_in_each_run() -> None:
    """All clocks agree, and are the same in each run."""

    def scenario(rt: ControlledRuntime) -> object:
        time.sleep(60.0)
        now = datetime.datetime.now(datetime.UTC).isoformat()
        return time.perf_counter(), time.time(), time.time_ns(), now, time.gmtime()[:6], time.strftime("%Y")

    moment = "1600000060.0, 1600000060000000000, '2020-09-13T12:27:40+00:00', (2020, 9, 13, 12, 27, 40), '2020'"
    assert outcomes(scenario) == {f"(60.0, {moment})"}


LOCAL = threading.local()
LOCAL.value = "the main thread's"


def test_a_thread_local_that_a_module_holds_is_each_tasks_own() -> None:
    """The main task has what the importing thread gave it; other tasks, and other runs, do not."""

    def look() -> str:
        return getattr(LOCAL, "value", "nothing")

    def scenario(rt: ControlledRuntime) -> tuple[str, ...]:
        before = look()
        seen: queue.Queue[str] = queue.Queue()
        Thread(target=lambda: seen.put(look())).start()
        LOCAL.value = "changed"
        return before, seen.get(), look()

    assert outcomes(scenario) == {"(\"the main thread's\", 'nothing', 'changed')"}
    assert LOCAL.value == "the main thread's"


def test_a_low_level_thread_is_a_task() -> None:
    """`_thread` leads to what is under control, too; nobody waits for its threads."""

    def scenario(rt: ControlledRuntime) -> str:
        seen: queue.Queue[str] = queue.Queue()
        _thread.start_new_thread(seen.put, ("item",))
        _thread.start_new_thread(threading.Event().wait, ())
        return seen.get()

    assert outcomes(scenario) == {"'item'"}


def test_a_low_level_thread_is_named_as_it_names_itself() -> None:
    """Also where faults may strike it, which take places among the tasks."""

    def scenario() -> bool:
        seen: queue.Queue[int] = queue.Queue()
        return _thread.start_new_thread(lambda: seen.put(threading.get_ident()), ()) == seen.get()

    assert explore(scenario, faults=["spurious"]).outcomes == ("True",)


class Watchful(threading.Thread):
    """A thread that sees what is assigned to it."""

    def __init__(self) -> None:
        self.__dict__["assigned"] = set[str]()
        super().__init__(target=int, args=("7",))

    def __setattr__(self, name: str, value: object) -> None:
        self.assigned.add(name)
        super().__setattr__(name, value)


def test_a_thread_has_what_its_class_gives_it() -> None:
    """It is made in a shorter way than its class makes it, unless the class of the user looks on."""
    real = vars(Thread(target=int)).keys(), Watchful().assigned

    def scenario() -> object:
        plain, named, odd = Thread(target=int), Thread(None, int, "odd"), Watchful()
        assert (vars(plain).keys(), odd.assigned) == real
        plain.daemon = True
        child = Thread(name="child", kwargs={})
        for thread in (plain, named, odd, child):
            thread.start()
        for thread in (plain, named, odd, child):
            thread.join()
        with pytest.raises(AssertionError, match="group"):
            Thread(group=1)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="unexpected keyword argument 'oops'"):
            Thread(oops=1)  # type: ignore[call-arg]
        return plain.name, named.name, odd.name, child.name, plain.daemon, child.daemon

    assert outcomes(scenario) == {"('Thread-1 (int)', 'odd', 'Thread-2 (int)', 'child', True, False)"}


def test_futures_and_their_callbacks_race() -> None:
    """A future may be cancelled before or after its worker begins."""

    def scenario(rt: ControlledRuntime) -> str:
        with ThreadPoolExecutor(1) as executor:
            future = executor.submit(pow, 2, 3)
            future.cancel()
            concurrent.futures.wait([future])
            return "cancelled" if future.cancelled() else str(future.result())

    assert outcomes(scenario) == {"'8'", "'cancelled'"}


def test_a_worker_that_has_taken_work_may_be_overtaken_before_it_begins() -> None:
    """Until it begins the work can still be cancelled, though what was submitted later is done."""

    def scenario() -> bool:
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.submit(int), pool.submit(int)
            second.result()
            return first.cancel()

    assert outcomes(scenario) == {"False", "True"}


def test_nobody_submits_while_a_shutdown_cancels() -> None:
    """Who is refused finds all cancelled, as in a real executor, which holds its lock meanwhile."""

    def scenario() -> None:
        pool, barrier, gate = ThreadPoolExecutor(1), threading.Barrier(2), threading.Event()
        pool.submit(lambda: (barrier.wait(), gate.wait()))
        barrier.wait()
        waiting = pool.submit(int)

        def submit() -> None:
            try:
                pool.submit(int)
            except RuntimeError:
                assert waiting.cancelled()

        late = Thread(target=submit)
        late.start()
        pool.shutdown(wait=False, cancel_futures=True)
        gate.set()
        late.join()

    assert outcomes(scenario) == {"None"}


def test_who_submits_from_within_the_cancelling_waits_for_itself() -> None:
    """A callback of what is cancelled runs under the executor's lock; who holds it is named."""

    def scenario() -> None:
        pool, gate = ThreadPoolExecutor(1), threading.Event()
        pool.submit(gate.wait)
        pool.submit(int).add_done_callback(lambda _: pool.submit(int))
        pool.shutdown(cancel_futures=True)

    report = failing(scenario)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.DEADLOCK
    assert re.search(r"'main' waits for the lock of executor\d, which 'main' holds", report.failure.message)


def test_a_worker_may_take_what_a_shutdown_has_not_come_to() -> None:
    """Work is cancelled one after the other, and workers go on meanwhile."""

    def scenario() -> tuple[bool, bool]:
        pool, barrier, gate = ThreadPoolExecutor(1), threading.Barrier(2), threading.Event()
        pool.submit(lambda: (barrier.wait(), gate.wait()))
        barrier.wait()
        first, second = pool.submit(int), pool.submit(int)
        first.add_done_callback(lambda _: gate.set())
        pool.shutdown(cancel_futures=True)
        return first.cancelled(), second.cancelled()

    assert outcomes(scenario) == {"(True, True)", "(True, False)"}


def test_what_was_kept_from_an_earlier_run_is_told() -> None:
    """A scenario that goes on with the locks of its last run is not certified."""
    kept: list[threading.Lock] = []

    def scenario(rt: ControlledRuntime) -> None:
        if not kept:
            kept.append(Lock())
        Thread(target=kept[0].acquire).start()
        kept[0].locked()

    report = explore(scenario, strategy="depth-first", declared=True)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "belongs to an earlier run" in report.reason


def test_state_that_threads_share_unseen_leaves_nothing_out() -> None:
    """A scenario that takes a runtime has no points at plain accesses, so no schedule is left out."""

    def scenario(rt: ControlledRuntime) -> list[int]:
        seen: list[int] = []
        threads = [Thread(target=seen.append, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return seen

    report = explore(scenario, strategy="depth-first")
    assert report.verdict is Verdict.HOLDS
    assert "which nobody watches" in report.reason


def test_nobody_else_gets_what_is_under_control() -> None:
    """Another thread of the process uses the library as ever while an exploration is open."""
    made: list[object] = []

    def bystander() -> None:
        made.extend(each() for each in (Lock, threading.Event, queue.Queue, queue.SimpleQueue, threading.local))
        time.sleep(0.001)
        made.append(time.time() > 1_700_000_000)

    with Stepper(lambda rt: Lock().acquire()):
        thread = Thread(target=bystander)
        thread.start()
        thread.join()
    assert made[-1] is True
    assert not any(type(each).__module__.startswith("omni_ipc") for each in made)


@pytest.mark.parametrize("make", [Lock, threading.RLock, threading.Event, queue.Queue, queue.SimpleQueue, Thread])
def test_after_the_exploration_all_is_as_before(make: type) -> None:
    """What is made then is real."""
    explore(lambda rt: make())
    assert not type(make()).__module__.startswith("omni_ipc")
