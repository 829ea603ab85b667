"""Known ways to get asyncio and threads wrong are found, and their corrected twins hold."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from omni_ipc.records import FailureKind, Report, Verdict
from omni_ipc.testbed import explore, replay
from omni_ipc.testbed.explain import explain
from tests.testbed.kernels import is_well

Main = Callable[[], Coroutine[Any, Any, object]]


def run(main: Main) -> Callable[[], None]:
    """Make a scenario of a coroutine function."""

    def scenario() -> None:
        asyncio.run(main())

    return scenario


def found(scenario: Callable[[], object], kind: FailureKind, text: str) -> Report:
    """Explore until it fails as expected, and replay what was found."""
    report = explore(scenario, runs=2_000)
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert report.failure is not None
    assert report.trace is not None
    assert (report.failure.kind, text in report.failure.message) == (kind, True), report.failure
    assert replay(scenario, report.trace).failure == report.failure
    return report


def holds(scenario: Callable[[], object]) -> Report:
    """Explore all schedules."""
    report = explore(scenario, runs=20_000)
    assert is_well(report), report.reason
    return report


def in_thread(fn: Callable[..., object], *args: object) -> threading.Thread:
    thread = threading.Thread(target=fn, args=args)
    thread.start()
    return thread


def _woken_by(wake: Callable[[asyncio.AbstractEventLoop, asyncio.Event], object]) -> Callable[[], None]:
    async def main() -> None:
        event = asyncio.Event()
        thread = in_thread(wake, asyncio.get_running_loop(), event)
        await event.wait()
        thread.join()

    return run(main)


def test_a_callback_from_a_thread_that_wakes_nobody_is_found() -> None:
    """`call_soon` from a thread leaves the loop asleep; `call_soon_threadsafe` wakes it."""
    report = found(
        _woken_by(lambda loop, event: loop.call_soon(event.set)),
        FailureKind.LOST_WAKEUP,
        "loop1, where Task-1 main waits in Event.wait at test_finds.py",
    )
    assert report.trace is not None
    assert any(step.fields.get("callback") == "Task-1 main" for step in report.trace.steps)
    holds(_woken_by(lambda loop, event: loop.call_soon_threadsafe(event.set)))


def test_threads_that_hand_the_same_loop_callbacks_are_under_control() -> None:
    """What they call on the loop is the testbed's own, and tells by itself: it makes nothing inconclusive."""

    async def main() -> list[int]:
        loop, got = asyncio.get_running_loop(), asyncio.Queue[int]()

        def feed(number: int) -> None:
            if not loop.is_closed() and loop.time() >= 0:
                loop.call_soon_threadsafe(got.put_nowait, number)

        threads = [in_thread(feed, number) for number in range(2)]
        numbers = [await got.get() for _ in threads]
        for thread in threads:
            thread.join()
        return numbers

    assert holds(lambda: asyncio.run(main())).outcomes == ("[0, 1]", "[1, 0]")


def test_an_event_of_the_loop_that_a_thread_sets_is_found() -> None:
    """`asyncio.Event` is not for threads, whether or not somebody waits already."""
    found(_woken_by(lambda _loop, event: event.set()), FailureKind.LOST_WAKEUP, "Event.wait")


@pytest.mark.parametrize("threadsafe", [False, True])
def test_a_future_that_a_thread_sets_is_found(threadsafe: bool) -> None:
    """A future is set by its loop, or else the loop may sleep on."""

    async def main() -> object:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if threadsafe:
            thread = in_thread(loop.call_soon_threadsafe, future.set_result, 1)
        else:
            thread = in_thread(future.set_result, 1)
        result = await future
        thread.join()
        return result

    if threadsafe:
        holds(run(main))
    else:
        found(run(main), FailureKind.LOST_WAKEUP, "Task-1 main waits at test_finds.py")


@pytest.mark.parametrize("careful", [False, True])
def test_a_result_for_a_cancelled_future_is_found(careful: bool) -> None:
    """Whoever checks in a thread and sets in the loop may be overtaken by the cancellation."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def answer() -> None:
            if not future.done():
                future.set_result("answer")

        def work() -> None:
            if careful:
                loop.call_soon_threadsafe(answer)
            elif not future.cancelled():
                loop.call_soon_threadsafe(future.set_result, "answer")

        thread = in_thread(work)
        await asyncio.sleep(0)
        future.cancel()
        while thread.is_alive():
            await asyncio.sleep(0.1)
        await asyncio.sleep(0)

    if careful:
        holds(run(main))
    else:
        report = found(run(main), FailureKind.EXCEPTION, "InvalidStateError")
        assert report.trace is not None
        *_, last = explain(report.trace).story
        told = r"So 'main' raised .*: invalid state, in the callback Future.set_result \(test_finds.py:\d+\)."
        assert re.fullmatch(told, last), "with the line that has sent the callback, as none of this file raised"


@pytest.mark.parametrize("looks_again", [False, True])
def test_a_result_lost_between_timeout_and_cancel_is_found(looks_again: bool) -> None:
    """A wait with a timeout written by hand must look again before it cancels what it waited for."""

    async def take(queue: asyncio.Queue[str]) -> str | None:
        getter = asyncio.create_task(queue.get())
        done, _ = await asyncio.wait({getter}, timeout=1.0)
        if not done:
            await asyncio.sleep(0)  # tells somebody about the timeout
            if looks_again and getter.done():
                return getter.result()
            getter.cancel()
            return None
        return getter.result()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue()

        def produce() -> None:
            threading.Event().wait(1.0)
            loop.call_soon_threadsafe(queue.put_nowait, "item")

        thread = in_thread(produce)
        item = await take(queue)
        while thread.is_alive():
            await asyncio.sleep(0.1)
        await asyncio.sleep(0)
        assert item == "item" or queue.qsize() == 1, "the item is lost"

    if looks_again:
        holds(run(main))
    else:
        found(run(main), FailureKind.EXCEPTION, "AssertionError: the item is lost")


class _Bridge:
    """A queue with a side for threads and one for a loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, atomic: bool) -> None:
        self._loop = loop
        self._atomic = atomic
        self._mutex = threading.Lock()
        self._items: deque[str] = deque()
        self._waiters: deque[asyncio.Future[None]] = deque()

    def put(self, item: str) -> None:
        with self._mutex:
            self._items.append(item)
            waiter = self._waiters.popleft() if self._waiters else None
        if waiter is not None:
            self._loop.call_soon_threadsafe(waiter.set_result, None)

    async def get(self) -> str:
        waiter = self._loop.create_future()
        with self._mutex:
            if self._items:
                return self._items.popleft()
            if self._atomic:
                self._waiters.append(waiter)
        if not self._atomic:
            with self._mutex:
                self._waiters.append(waiter)
        await waiter
        with self._mutex:
            return self._items.popleft()


@pytest.mark.parametrize("atomic", [False, True])
def test_a_queue_between_threads_and_a_loop_that_forgets_a_waiter_is_found(atomic: bool) -> None:
    """To look for an item and to join the waiters must be one step for the threads."""

    async def main() -> None:
        bridge = _Bridge(asyncio.get_running_loop(), atomic=atomic)
        thread = in_thread(bridge.put, "item")
        assert await bridge.get() == "item"
        thread.join()

    if atomic:
        holds(run(main))
    else:
        found(run(main), FailureKind.LOST_WAKEUP, "Task-1 main waits at test_finds.py")


@pytest.mark.parametrize("blocking", [True, False])
def test_two_loops_that_wait_for_each_other_are_found(blocking: bool) -> None:
    """Who blocks a loop on the answer of another one, while that one does the same, is stuck for good."""

    def scenario() -> None:
        loops = [asyncio.new_event_loop() for _ in range(2)]
        ends: list[object] = []

        async def answer() -> int:
            return 1

        async def ask(other: asyncio.AbstractEventLoop) -> None:
            future = asyncio.run_coroutine_threadsafe(answer(), other)
            ends.append(future.result() if blocking else await asyncio.wrap_future(future))
            if len(ends) == 2:
                for loop in loops:
                    loop.call_soon_threadsafe(loop.stop)

        threads = [in_thread(loop.run_forever) for loop in loops]
        for mine, other in (loops, reversed(loops)):
            asyncio.run_coroutine_threadsafe(ask(other), mine)
        for thread in threads:
            thread.join()
        for loop in loops:
            loop.close()

    if blocking:
        found(scenario, FailureKind.LOST_WAKEUP, "future")
    else:
        report = explore(scenario, strategy="random", runs=200)
        assert report.verdict is Verdict.BOUNDED, report.reason


@pytest.mark.parametrize("shared", [True, False])
def test_a_lock_of_asyncio_that_two_loops_share_is_found(shared: bool) -> None:
    """`asyncio.Lock` belongs to one loop: who waits for another loop to release it is not woken."""

    def scenario() -> None:
        common = asyncio.Lock()

        async def main() -> None:
            async with common if shared else asyncio.Lock():
                await asyncio.sleep(1)

        threads = [in_thread(asyncio.run, main()) for _ in range(2)]
        for thread in threads:
            thread.join()

    if shared:
        found(scenario, FailureKind.LOST_WAKEUP, "main waits in Lock.acquire at test_finds.py")
    else:
        holds(scenario)


def test_a_timer_of_the_loop_races_with_the_result_if_timers_are_explored() -> None:
    """In virtual time computing takes none; explored, a timeout may come before the answer of a thread."""

    async def main() -> str:
        try:
            return await asyncio.wait_for(asyncio.to_thread(lambda: "answer"), 1)
        except TimeoutError:
            return "timeout"

    def scenario() -> str:
        return asyncio.run(main())

    assert set(explore(scenario, strategy="random", runs=200).outcomes) == {"'answer'"}
    report = explore(scenario, strategy="random", runs=200, timers="explored")
    assert set(report.outcomes) == {"'answer'", "'timeout'"}, report.reason


def test_turns_that_were_left_out_are_told() -> None:
    """A loop that is always busy lets others go on once in a while; so not all orders were run, and it is said."""

    def scenario() -> None:
        flag: list[int] = []

        async def poll() -> None:
            while not flag:
                await asyncio.sleep(0)

        def run() -> None:
            asyncio.run(poll())

        poller = threading.Thread(target=run)
        poller.start()
        threading.Thread(target=lambda: flag.append(1)).start()
        poller.join()

    report = explore(scenario, runs=200, strategy="dpor")
    assert report.verdict is Verdict.BOUNDED
    assert "loops that were busy for 100 turns on end let all others go on first" in report.reason


def test_a_thread_may_post_between_two_callbacks_that_one_step_makes_ready() -> None:
    """It runs from its start on: before, between and behind them, and when the loop waits already, in 4 orders."""

    def scenario() -> str:
        seen: list[str] = []

        async def main() -> None:
            loop = asyncio.get_running_loop()
            thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(seen.append, "posted"))
            thread.start()
            loop.call_soon(seen.append, "one")
            loop.call_soon(seen.append, "two")
            await asyncio.sleep(1)
            thread.join()

        asyncio.run(main())
        return " ".join(seen)

    report = explore(scenario, strategy="dpor")
    assert set(report.outcomes) == {"'posted one two'", "'one posted two'", "'one two posted'"}
    assert report.traces == 4


def test_a_timeout_races_with_what_comes_at_the_same_moment() -> None:
    """Whichever was set first, the loop may run what the one does before the other one fires."""

    async def main() -> str:
        event = asyncio.Event()

        async def set_later() -> None:
            await asyncio.sleep(1)
            event.set()

        setter = asyncio.create_task(set_later())
        await asyncio.sleep(0)
        try:
            await asyncio.wait_for(event.wait(), 1)
        except TimeoutError:
            return "timeout"
        finally:
            await setter
        return "set"

    report = explore(lambda: asyncio.run(main()), strategy="dpor")
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'set'", "'timeout'"))


@pytest.mark.parametrize(("naps", "nap"), [((1, 2), 3), ((0.1, 0.2), 0.3)])
def test_timers_that_were_set_at_two_moments_fire_in_either_order(naps: tuple[float, float], nap: float) -> None:
    """Both are due at one moment, up to the error of a sum of floats: which one is first is chance in real time."""

    async def main() -> str:
        woken: list[str] = []

        async def nap_twice() -> None:
            for seconds in naps:
                await asyncio.sleep(seconds)
            woken.append("twice")

        async def nap_once() -> None:
            await asyncio.sleep(nap)
            woken.append("once")

        await asyncio.gather(nap_twice(), nap_once())
        return " ".join(woken)

    report = explore(lambda: asyncio.run(main()), strategy="dpor")
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("'once twice'", "'twice once'"))
    assert report.traces == 8


@pytest.mark.parametrize(("sleepers", "traces"), [(1, 1), (2, 4), (3, 16), (4, 64)])
def test_timers_that_were_set_at_one_moment_keep_their_order(sleepers: int, traces: int) -> None:
    """Each may fire in the turn of the one before, or in a later one: before, while or after that one's task runs."""

    async def main() -> str:
        woken: list[str] = []

        async def nap(number: int) -> None:
            await asyncio.sleep(1)
            woken.append(str(number))

        await asyncio.gather(*(nap(number) for number in range(sleepers)))
        return "".join(woken)

    report = explore(lambda: asyncio.run(main()), strategy="dpor")
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, (repr("0123"[:sleepers]),))
    assert report.traces == traces


def test_timers_are_not_counted_among_the_threads() -> None:
    """They fire by tasks of their own, in one turn or in several."""

    async def nap() -> list[str]:
        await asyncio.sleep(1)
        return [thread.name for thread in threading.enumerate()]

    async def main() -> None:
        assert await asyncio.gather(nap(), nap()) == [["MainThread"], ["MainThread"]]

    holds(run(main))


def test_a_crowd_of_timers_fires_in_one_turn_and_that_is_told() -> None:
    """Not all was run, and so it does not hold: it holds within that bound."""

    async def main() -> None:
        await asyncio.gather(*(asyncio.sleep(1) for _ in range(10)))

    report = explore(lambda: asyncio.run(main()), strategy="dpor")
    assert (report.verdict, report.traces) == (Verdict.BOUNDED, 1)
    assert "over 4 timers that were set at one moment fired in one turn" in report.reason


def test_threads_whose_sleep_ends_at_one_moment_go_on_in_either_order() -> None:
    """Up to the error of a sum of floats, which is no order of theirs."""

    def scenario() -> str:
        woken: list[str] = []

        def nap(naps: tuple[float, ...], name: str) -> None:
            for seconds in naps:
                time.sleep(seconds)
            woken.append(name)

        threads = [threading.Thread(target=nap, args=args) for args in (((0.1, 0.2), "twice"), ((0.3,), "once"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return " ".join(woken)

    report = explore(scenario, strategy="dpor")
    assert (report.traces, report.outcomes) == (2, ("'once twice'", "'twice once'"))
