"""The production runtime: the standard library's objects, and words in shared memory."""

from __future__ import annotations

import concurrent.futures
import platform
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.seam import words
from omni_ipc.seam.api import Runtime
from omni_ipc.seam.futures import fail, resolve
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.transport.memory import Segment

RT: Runtime = NativeRuntime()


def test_every_noun_is_the_standard_library_s_own() -> None:
    """Nothing is wrapped in production."""
    assert type(RT.lock()) is type(threading.Lock())
    assert type(RT.rlock()) is type(threading.RLock())
    assert type(RT.condition()) is threading.Condition
    assert type(RT.event()) is threading.Event
    assert type(RT.semaphore(2)) is threading.Semaphore
    assert type(RT.queue(3)) is queue.Queue
    assert type(RT.future()) is concurrent.futures.Future
    assert type(RT.spawn(lambda: None, name="noun")) is threading.Thread


def test_a_condition_takes_the_lock_that_it_is_given() -> None:
    """Whoever holds the lock holds the condition."""
    lock = RT.lock()
    with RT.condition(lock):
        assert not lock.acquire(blocking=False)


def test_a_region_is_its_lock_and_without_one_a_shared_context() -> None:
    """A region costs one call: no object is made."""
    lock = RT.lock()
    assert RT.region("Pump.Deliver", lock, batch="b") is lock
    assert RT.region("Writer.Claim") is RT.region("Writer.Publish", lane="out")
    with RT.region("Writer.Claim"), RT.region("Writer.Publish"):
        pass


def test_a_task_is_a_named_daemon_thread() -> None:
    """It gets its arguments, and does not keep the process alive."""
    seen: list[object] = []
    task = RT.spawn(lambda *args: seen.append((threading.current_thread().daemon, args)), 1, "two", name="worker.main")
    task.join(5)
    assert (task.name, task.is_alive(), seen) == ("worker.main", False, [(True, (1, "two"))])


def test_an_exception_that_ends_a_task_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing fails in silence: threading.excepthook hears of it."""
    heard: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: heard.append(f"{args.thread.name}: {args.exc_value}"))
    RT.spawn(lambda: 1 // 0, name="worker.output").join(5)
    assert heard == ["worker.output: integer division or modulo by zero"]


def test_the_clock_moves_forward_by_what_was_slept() -> None:
    """Now and sleep speak of the same seconds."""
    before = RT.now()
    RT.sleep(0.01)
    assert RT.now() >= before + 0.01


def test_words_hold_whole_64_bit_values() -> None:
    """Each word keeps what was stored, whatever its neighbours hold."""
    view = RT.words(memoryview(bytearray(24)))
    view.store(0, 2**64 - 1)
    view.store(2, 7)
    view.fence()
    assert [view.load(index) for index in range(3)] == [2**64 - 1, 0, 7]


@pytest.mark.parametrize(
    "buffer",
    [memoryview(bytes(16)), memoryview(bytearray(12)), memoryview(bytearray(0)), memoryview(bytearray(24))[1:17]],
    ids=["read-only", "not whole words", "empty", "misaligned"],
)
def test_words_refuse_a_buffer_that_has_none(buffer: memoryview) -> None:
    """A wrong buffer is refused when it is given, not when it is used."""
    with pytest.raises(UsageError, match="Words need"):
        RT.words(buffer)


@pytest.fixture
def _another_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    words._number.cache_clear()
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    yield
    words._number.cache_clear()


@pytest.mark.usefixtures("_another_machine")
def test_words_refuse_a_machine_whose_memory_order_is_unknown() -> None:
    """Elsewhere than on x86-64 and AArch64 the reason is told, instead of a guess."""
    with pytest.raises(EnvironmentMissing, match="riscv64: its memory order and futex are not known"):
        RT.words(memoryview(bytearray(8)))


def test_a_wait_on_a_word_that_differs_returns_at_once() -> None:
    """Also when only the upper half differs, which the kernel does not compare."""
    view = RT.words(memoryview(bytearray(8)))
    view.store(0, 1 << 32)
    assert view.wait(0, 0, timeout=60)
    assert view.wait(0, 5, timeout=60)


def test_a_wait_ends_with_its_time() -> None:
    """A wait that nobody ends returns False, not before its time; no time is no wait."""
    view = RT.words(memoryview(bytearray(8)))
    before = time.monotonic()
    assert not view.wait(0, 0, timeout=0.02)
    assert time.monotonic() - before >= 0.02
    assert not view.wait(0, 0, timeout=-1)


def test_one_wake_ends_the_waits_of_all_threads() -> None:
    """Everybody who sleeps on the word wakes, and learns that it was not the time."""
    view = RT.words(memoryview(bytearray(16)))
    woken: queue.Queue[bool] = queue.Queue()
    at_once = 0
    while at_once < 2:  # until both slept when the wake came; one that wakes a single thread never gets there
        for number in range(2):
            RT.spawn(lambda: woken.put(view.wait(1, 0, timeout=60)), name=f"waiter {number}")
        time.sleep(0.005)
        view.wake(1)
        time.sleep(0.02)
        at_once = woken.qsize()
        while woken.qsize() < 2:
            view.wake(1)
            time.sleep(0.001)
        assert (woken.get(), woken.get()) == (True, True)


def test_a_wake_reaches_another_process() -> None:
    """The futex is shared: a child that maps the same memory wakes us, and its store is seen."""
    code = (
        "import sys; from omni_ipc.seam.native import NativeRuntime; from omni_ipc.transport.memory import Segment\n"
        "words = NativeRuntime().words(Segment.attach(int(sys.argv[1]), name='words').view)\n"
        "words.store(0, 1); words.wake(0)"
    )
    with Segment.create(64, name="words") as segment:
        view = RT.words(segment.view)
        with subprocess.Popen([sys.executable, "-c", code, str(segment.fd)], pass_fds=[segment.fd]):
            assert view.wait(0, 0, timeout=60)
        assert view.load(0) == 1
        del view


def test_a_signal_ends_a_wait_early() -> None:
    """A handler runs within the wait's time, since an interrupted wait is not restarted."""
    view = RT.words(memoryview(bytearray(8)))
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        assert view.wait(0, 0, timeout=60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard == [signal.SIGALRM]


def test_a_pending_future_takes_what_it_is_given() -> None:
    """Resolve and fail tell that it was taken."""
    first, second = RT.future(), RT.future()
    assert resolve(first, 3)
    assert fail(second, KeyError("x"))
    assert first.result() == 3
    assert isinstance(second.exception(), KeyError)


@pytest.mark.parametrize(
    "settle", [lambda f: f.cancel(), lambda f: f.set_result(1), lambda f: f.set_exception(OSError())]
)
def test_a_settled_future_refuses_without_raising(settle: object) -> None:
    """Who settles futures for many must not die of one that was cancelled or settled before."""
    future = RT.future()
    settle(future)  # type: ignore[operator]
    assert not resolve(future, 2)
    assert not fail(future, ValueError())


def test_a_future_cancelled_at_the_same_time_is_either_or() -> None:
    """Of a cancel and a resolve that race, exactly one is told that it was the one."""
    for _ in range(200):
        future = RT.future()
        outcome: list[bool] = []
        task = RT.spawn(lambda f=future, o=outcome: o.append(f.cancel()), name="canceller")
        taken = resolve(future, 1)
        task.join(5)
        assert outcome == [not taken]
