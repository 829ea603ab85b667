"""The contract of the seam, noun by noun, on every runtime that implements it.

Each body runs natively, on real threads and in real time, and under control, in every schedule: with stores that are
seen at once, and with stores that are seen late.
"""

from __future__ import annotations

import math
import queue
import socket
from collections.abc import Callable
from concurrent.futures import CancelledError, InvalidStateError

import pytest

from omni_ipc.seam.api import Runtime
from omni_ipc.seam.conducted import ConductedRuntime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.testbed import explore
from tests.testbed.kernels import is_well

Run = Callable[[Callable[[Runtime], None]], None]

SOON = 0.01  # seconds of a wait that must time out
LONG = 30.0  # seconds of a wait that must not


def run_natively(body: Callable[[Runtime], None]) -> None:
    """Run once, on threads."""
    body(NativeRuntime())


def run_under_control(body: Callable[[Runtime], None]) -> None:
    """Run in every schedule."""
    report = explore(body)
    assert is_well(report), report.reason


def run_under_weak_memory(body: Callable[[Runtime], None]) -> None:
    """Run in every schedule, where stores arrive late and in any order."""
    report = explore(body, memory="weak")
    assert is_well(report), report.reason


def run_set_free(body: Callable[[Runtime], None]) -> None:
    """Run once, on threads that have been conducted until now."""
    ours, theirs = socket.socketpair()
    ours.close()
    rt = ConductedRuntime(theirs, [])
    rt.close()
    body(rt)
    assert rt.errors == []


@pytest.fixture(
    params=[run_natively, run_set_free, run_under_control, run_under_weak_memory],
    ids=["native", "set free", "controlled", "weak memory"],
)
def run(request: pytest.FixtureRequest) -> Run:
    """Run a body on one of the runtimes."""
    runner: Run = request.param
    return runner


@pytest.mark.parametrize("kind", ["lock", "rlock", "condition"])
def test_a_lock_keeps_others_out(run: Run, kind: str) -> None:
    """While one task holds it another one cannot take it, and can once it is given back."""

    def body(rt: Runtime) -> None:
        lock = getattr(rt, kind)()
        tried: list[bool] = []

        def try_it() -> None:
            tried.append(lock.acquire(blocking=False))
            tried.append(lock.acquire(timeout=SOON))

        with lock:
            rt.spawn(try_it, name="other").join()
        assert tried == [False, False]
        assert lock.acquire()
        lock.release()

    run(body)


def test_entering_a_lock_tells_that_it_was_taken(run: Run) -> None:
    """As `with lock as taken` does in the standard library."""

    def body(rt: Runtime) -> None:
        with rt.lock() as taken:
            assert taken is True

    run(body)


def test_a_plain_lock_may_be_released_by_another_task(run: Run) -> None:
    """It has no owner."""

    def body(rt: Runtime) -> None:
        lock = rt.lock()
        lock.acquire()
        rt.spawn(lock.release, name="other").join()
        assert lock.acquire(blocking=False)

    run(body)


@pytest.mark.parametrize("kind", ["lock", "rlock", "condition"])
def test_a_lock_that_is_not_held_cannot_be_released(run: Run, kind: str) -> None:
    """It is a RuntimeError."""

    def body(rt: Runtime) -> None:
        with pytest.raises(RuntimeError):
            getattr(rt, kind)().release()

    run(body)


@pytest.mark.parametrize("kind", ["lock", "rlock"])
def test_impossible_timeouts_of_locks_are_refused(run: Run, kind: str) -> None:
    """A negative timeout, and a timeout without blocking, are ValueErrors."""

    def body(rt: Runtime) -> None:
        lock = getattr(rt, kind)()
        with pytest.raises(ValueError):  # noqa: PT011
            lock.acquire(timeout=-2)
        with pytest.raises(ValueError):  # noqa: PT011
            lock.acquire(blocking=False, timeout=1)

    run(body)


@pytest.mark.parametrize("kind", ["rlock", "condition"])
def test_a_reentrant_lock_counts(run: Run, kind: str) -> None:
    """It is free again only after as many releases as acquires; a condition's own lock is reentrant, too."""

    def body(rt: Runtime) -> None:
        lock = getattr(rt, kind)()
        tried: list[bool] = []

        def try_it() -> None:
            tried.append(lock.acquire(blocking=False))

        lock.acquire()
        lock.acquire()
        lock.release()
        rt.spawn(try_it, name="early").join()
        lock.release()
        rt.spawn(try_it, name="late").join()
        assert tried == [False, True]

    run(body)


def test_a_reentrant_lock_is_released_by_its_owner_only(run: Run) -> None:
    """Anybody else gets a RuntimeError."""

    def body(rt: Runtime) -> None:
        lock = rt.rlock()
        errors: list[str] = []

        def release() -> None:
            try:
                lock.release()
            except RuntimeError as error:
                errors.append(str(error))

        with lock:
            rt.spawn(release, name="other").join()
        assert errors == ["cannot release un-acquired lock"]

    run(body)


def test_a_condition_wakes_who_waits(run: Run) -> None:
    """One for notify, all for notify_all; each has the lock when it goes on."""

    def body(rt: Runtime) -> None:
        ready = rt.condition()
        tokens: list[int] = []
        taken: list[int] = []

        def take() -> None:
            with ready:
                while not tokens:
                    assert ready.wait(LONG)
                taken.append(tokens.pop())

        tasks = [rt.spawn(take, name=name) for name in ("a", "b")]
        with ready:
            tokens.append(1)
            ready.notify()
        with ready:
            tokens.append(2)
            ready.notify_all()
        for task in tasks:
            task.join()
        assert sorted(taken) == [1, 2]

    run(body)


def test_a_wait_for_a_condition_gives_the_lock_back_wholly(run: Run) -> None:
    """However often its owner has taken it."""

    def body(rt: Runtime) -> None:
        ready = rt.condition()
        state: list[str] = []

        def announce() -> None:
            with ready:
                state.append("ready")
                ready.notify()

        with ready, ready:
            task = rt.spawn(announce, name="announcer")
            assert ready.wait_for(lambda: "ready" in state, LONG)
        task.join()

    run(body)


def test_a_wait_for_a_condition_times_out(run: Run) -> None:
    """It tells so, has the lock again, and wait_for returns what the predicate last said."""

    def body(rt: Runtime) -> None:
        ready = rt.condition()
        with ready:
            assert ready.wait(SOON) is False
            assert ready.wait_for(lambda: 0, SOON) == 0
            assert ready.wait_for(lambda: "at once") == "at once"
            ready.notify()

    run(body)


def test_a_condition_is_used_with_its_lock_held(run: Run) -> None:
    """Waiting and notifying without it are RuntimeErrors."""

    def body(rt: Runtime) -> None:
        ready = rt.condition()
        for use in (ready.wait, ready.notify, ready.notify_all):
            with pytest.raises(RuntimeError, match="un-acquired lock"):
                use()

    run(body)


def test_a_condition_shares_the_lock_that_it_is_given(run: Run) -> None:
    """Two conditions over one lock wake their own waiters."""

    def body(rt: Runtime) -> None:
        lock = rt.lock()
        full, free = rt.condition(lock), rt.condition(lock)
        cell: list[int] = []
        got: list[int] = []

        def consume() -> None:
            for _ in range(2):
                with full:
                    full.wait_for(lambda: cell)
                    got.append(cell.pop())
                    free.notify()

        task = rt.spawn(consume, name="consumer")
        for item in (1, 2):
            with lock:
                free.wait_for(lambda: not cell)
                cell.append(item)
                full.notify()
        task.join()
        assert got == [1, 2]

    run(body)


def test_an_event_stays_set_until_it_is_cleared(run: Run) -> None:
    """A wait tells whether it is."""

    def body(rt: Runtime) -> None:
        event = rt.event()
        assert not event.is_set()
        assert event.wait(SOON) is False
        task = rt.spawn(event.set, name="setter")
        assert event.wait() is True
        assert event.is_set()
        task.join()
        event.clear()
        assert event.wait(0) is False

    run(body)


def test_a_semaphore_counts_down_to_zero(run: Run) -> None:
    """At zero it blocks, fails or times out; a release of n lets n in."""

    def body(rt: Runtime) -> None:
        semaphore = rt.semaphore(2)
        with semaphore:
            assert semaphore.acquire()
            assert semaphore.acquire(blocking=False) is False
            assert semaphore.acquire(timeout=SOON) is False
            task = rt.spawn(semaphore.release, 2, name="releaser")
            assert semaphore.acquire(timeout=LONG)
            task.join()
            assert semaphore.acquire(blocking=False)

    run(body)


def test_impossible_semaphores_are_refused(run: Run) -> None:
    """A negative start, a release of nothing, a timeout without blocking."""

    def body(rt: Runtime) -> None:
        with pytest.raises(ValueError, match=">= 0"):
            rt.semaphore(-1)
        with pytest.raises(ValueError, match="one or more"):
            rt.semaphore().release(0)
        with pytest.raises(ValueError, match="non-blocking"):
            rt.semaphore().acquire(blocking=False, timeout=1.0)

    run(body)


def test_a_queue_is_first_in_first_out(run: Run) -> None:
    """And tells its size."""

    def body(rt: Runtime) -> None:
        items = rt.queue()
        assert items.empty()
        for item in "abc":
            items.put(item)
        assert (items.qsize(), items.empty(), items.full()) == (3, False, False)
        assert [items.get(), items.get(timeout=LONG), items.get_nowait()] == ["a", "b", "c"]

    run(body)


def test_an_empty_queue_and_a_full_one_say_so(run: Run) -> None:
    """Empty and Full are those of the standard library, at once or after the timeout."""

    def body(rt: Runtime) -> None:
        items = rt.queue(1)
        for get in (items.get_nowait, lambda: items.get(timeout=SOON), lambda: items.get(block=False)):
            with pytest.raises(queue.Empty):
                get()
        items.put("item")
        assert items.full()
        for put in (items.put_nowait, lambda item: items.put(item, timeout=SOON), lambda item: items.put(item, False)):
            with pytest.raises(queue.Full):
                put("more")
        assert items.get() == "item"

    run(body)


def test_negative_timeouts_of_queues_are_refused(run: Run) -> None:
    """They are ValueErrors."""

    def body(rt: Runtime) -> None:
        items = rt.queue(1)
        with pytest.raises(ValueError, match="non-negative"):
            items.get(timeout=-1)
        with pytest.raises(ValueError, match="non-negative"):
            items.put("item", timeout=-1)

    run(body)


def test_a_queue_passes_items_between_tasks(run: Run) -> None:
    """A bounded one holds its writer up, and loses nothing."""

    def body(rt: Runtime) -> None:
        items = rt.queue(1)

        def write() -> None:
            for item in (1, 2, None):
                items.put(item)

        task = rt.spawn(write, name="writer")
        assert list(iter(items.get, None)) == [1, 2]
        task.join()

    run(body)


def test_a_future_hands_over_its_result_or_its_error(run: Run) -> None:
    """To whoever waits, before or after it is settled."""

    def body(rt: Runtime) -> None:
        good, bad = rt.future(), rt.future()
        error = KeyError("lost")

        def settle() -> None:
            good.set_result(42)
            bad.set_exception(error)

        task = rt.spawn(settle, name="setter")
        assert good.result() == 42
        with pytest.raises(KeyError, match="lost"):
            bad.result(timeout=LONG)
        assert (good.exception(), bad.exception()) == (None, error)
        assert good.done()
        assert not good.cancelled()
        task.join()

    run(body)


def test_a_wait_for_a_future_times_out(run: Run) -> None:
    """With the built-in TimeoutError, and the future is as before."""

    def body(rt: Runtime) -> None:
        future = rt.future()
        for wait in (future.result, future.exception):
            with pytest.raises(TimeoutError):
                wait(timeout=SOON)
        assert not future.done()

    run(body)


def test_a_cancelled_future_is_done_and_cannot_be_settled(run: Run) -> None:
    """Waiters get CancelledError, the setter InvalidStateError."""

    def body(rt: Runtime) -> None:
        future = rt.future()
        assert future.cancel() is True
        assert future.cancel() is True
        assert (future.done(), future.cancelled()) == (True, True)
        with pytest.raises(CancelledError):
            future.result()
        with pytest.raises(CancelledError):
            future.exception()
        with pytest.raises(InvalidStateError):
            future.set_result(1)
        with pytest.raises(InvalidStateError):
            future.set_exception(KeyError())

    run(body)


def test_a_settled_future_stays_as_it_is(run: Run) -> None:
    """It can be neither cancelled nor settled again."""

    def body(rt: Runtime) -> None:
        future = rt.future()
        future.set_result(1)
        assert future.cancel() is False
        with pytest.raises(InvalidStateError):
            future.set_result(2)
        assert future.result() == 1

    run(body)


def test_done_callbacks_run_once_with_the_future(run: Run) -> None:
    """In order, in whoever settles or cancels; at once if it is done already; an error in one is no error of others."""

    def body(rt: Runtime) -> None:
        future = rt.future()
        calls: list[str] = []
        future.add_done_callback(lambda done: calls.append(f"first {done.result()}"))
        future.add_done_callback(lambda done: calls.append("second"))
        rt.spawn(future.set_result, 1, name="setter").join()
        future.add_done_callback(lambda done: calls.append("late"))
        assert calls == ["first 1", "second", "late"]
        cancelled = rt.future()
        cancelled.add_done_callback(lambda done: calls.append(f"cancelled {done.cancelled()}"))
        cancelled.cancel()
        assert calls[-1] == "cancelled True"

    run(body)


def test_an_error_in_a_callback_does_not_reach_the_setter(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged; the other callbacks run."""

    def body(rt: Runtime) -> None:
        future = rt.future()
        calls: list[str] = []

        def fail(done: object) -> None:
            raise KeyError("callback")

        future.add_done_callback(fail)
        future.add_done_callback(lambda done: calls.append("second"))
        future.set_result(1)
        assert calls == ["second"]

    run(body)
    assert "exception calling callback" in caplog.text


def test_a_task_runs_its_function_and_ends(run: Run) -> None:
    """It gets its arguments, has its name, and can be waited for."""

    def body(rt: Runtime) -> None:
        seen: list[object] = []
        gate = rt.event()

        def work(*args: object) -> None:
            gate.wait()
            seen.extend(args)

        task = rt.spawn(work, 1, "two", name="worker")
        assert task.name == "worker"
        task.join(SOON)
        assert task.is_alive()
        gate.set()
        task.join()
        assert not task.is_alive()
        assert seen == [1, "two"]

    run(body)


def test_words_are_loaded_and_stored(run: Run) -> None:
    """Each is 8 bytes of the buffer; a second view of the buffer sees the same words."""

    def body(rt: Runtime) -> None:
        memory = bytearray(32)
        words = rt.words(memoryview(memory))
        words.store(1, 2**64 - 1)
        words.fence()
        assert (words.load(0), words.load(1)) == (0, 2**64 - 1)
        assert memory[8:16] == b"\xff" * 8
        assert rt.words(memoryview(memory)[8:]).load(0) == 2**64 - 1

    run(body)


def test_bytes_are_read_and_written(run: Run) -> None:
    """At any offset; a copy is the reader's own, the written memory is the writer's again, and no bytes are bytes."""

    def body(rt: Runtime) -> None:
        words = rt.words(memoryview(bytearray(24)))
        given = bytearray(b"abcdefghij")
        words.write(3, memoryview(given))
        given[:] = bytes(10)
        words.write(24, b"")
        copy = words.read(2, 12)
        copy[0] = 1
        assert copy == b"\1abcdefghij\0"
        assert words.read(2, 12) == b"\0abcdefghij\0"
        assert words.read(24, 0) == b""
        words.store(1, 0)
        assert words.read(3, 10) == b"abcde\0\0\0\0\0"
        words.fence()

    run(body)


def test_bytes_beyond_the_words_are_not_written(run: Run) -> None:
    """What does not fit is refused, as a whole."""

    def body(rt: Runtime) -> None:
        words = rt.words(memoryview(bytearray(16)))
        with pytest.raises((ValueError, IndexError)):
            words.write(10, b"1234567")
        assert words.read(0, 16) == bytes(16)

    run(body)


def test_a_wait_on_a_word_may_have_no_end(run: Run) -> None:
    """Where nobody else can end it, a wake does."""

    def body(rt: Runtime) -> None:
        words = rt.words(memoryview(bytearray(8)))

        def ring() -> None:
            words.store(0, 1)
            words.wake(0)

        task = rt.spawn(ring, name="ringer")
        while words.load(0) == 0:
            assert words.wait(0, 0, timeout=math.inf) is True
        task.join()
        assert words.load(0) == 1

    run(body)


def test_a_wait_on_a_word_that_differs_returns_at_once(run: Run) -> None:
    """It counts as woken."""

    def body(rt: Runtime) -> None:
        words = rt.words(memoryview(bytearray(8)))
        assert words.wait(0, 1, timeout=LONG) is True

    run(body)


def test_a_wait_on_a_word_times_out(run: Run) -> None:
    """It tells so."""

    def body(rt: Runtime) -> None:
        words = rt.words(memoryview(bytearray(8)))
        assert words.wait(0, 0, timeout=SOON) is False

    run(body)


def test_a_wake_ends_the_wait_on_a_word(run: Run) -> None:
    """Also through another view; who looks again sees what was stored before the wake."""

    def body(rt: Runtime) -> None:
        memory = bytearray(16)
        words, other = rt.words(memoryview(memory)), rt.words(memoryview(memory))

        def ring() -> None:
            other.store(1, 7)
            other.wake(1)

        task = rt.spawn(ring, name="ringer")
        while words.load(1) == 0:
            words.wait(1, 0, timeout=LONG)
        assert words.load(1) == 7
        task.join()

    run(body)


@pytest.mark.parametrize("buffer", [memoryview(b"read-only, 16 by"), memoryview(bytearray(12))])
def test_buffers_that_cannot_be_words_are_refused(run: Run, buffer: memoryview) -> None:
    """Read-only ones, and those that are no multiple of 8 bytes."""

    def body(rt: Runtime) -> None:
        with pytest.raises(ValueError):  # noqa: PT011
            rt.words(buffer)

    run(body)


def test_time_passes_in_sleep(run: Run) -> None:
    """At least as long as asked for; less than nothing is a ValueError."""

    def body(rt: Runtime) -> None:
        before = rt.now()
        rt.sleep(SOON)
        assert rt.now() - before >= SOON
        rt.sleep(0)
        with pytest.raises(ValueError, match="non-negative"):
            rt.sleep(-1)

    run(body)


@pytest.mark.parametrize("kind", ["lock", "rlock", "condition"])
def test_a_region_holds_its_lock(run: Run, kind: str) -> None:
    """From the entrance to the exit, also when it is left by an exception."""

    def body(rt: Runtime) -> None:
        lock = getattr(rt, kind)()
        tried: list[bool] = []

        def try_it() -> None:
            if lock.acquire(blocking=False):
                tried.append(True)
                lock.release()
            else:
                tried.append(False)

        def fail_inside() -> None:
            with rt.region("Test.Hold", lock, batch="b", number=1):
                rt.spawn(try_it, name="early").join()
                raise KeyError

        with pytest.raises(KeyError):
            fail_inside()
        rt.spawn(try_it, name="late").join()
        assert tried == [False, True]

    run(body)


def test_regions_nest(run: Run) -> None:
    """With and without locks."""

    def body(rt: Runtime) -> None:
        outer, inner = rt.lock(), rt.rlock()
        with rt.region("Test.Outer", outer), rt.region("Test.Inner", inner), rt.region("Test.Bare"):
            assert outer.acquire(blocking=False) is False
            assert inner.acquire(blocking=False) is True
            inner.release()

    run(body)
