"""Explorations come to the same wherever they are made, and leave the process as they found it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from omni_ipc.records import Report, Verdict
from omni_ipc.testbed import explore
from omni_ipc.testbed.tasks import RunEnded

_LOCK = threading.Lock()
_counted = 0


def good() -> int:
    """Use threads, a loop and a pool, correctly."""
    global _counted
    _counted = 0
    done: queue.Queue[int] = queue.Queue()

    def count() -> None:
        global _counted
        with _LOCK:
            _counted += 1
        done.put(1)

    async def main() -> None:
        event = asyncio.Event()
        waiting = asyncio.create_task(asyncio.wait_for(event.wait(), 1))
        await asyncio.to_thread(count)
        event.set()
        await waiting

    thread = threading.Thread(target=count)
    thread.start()
    asyncio.run(main())
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(done.get).result()
    thread.join()
    return _counted


def racy() -> None:
    """Lose an update."""
    box = [0]

    def add() -> None:
        box[0] = box[0] + 1

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert box == [2]


def explored() -> tuple[object, ...]:
    """Explore both, and give what matters of the reports."""
    ended, failed = explore(good, runs=30), explore(racy, runs=30)
    return told(ended), told(failed)


def told(report: Report) -> tuple[object, ...]:
    return (report.verdict, report.reason, report.schedules, report.steps, report.outcomes, report.trace)


def in_a_thread() -> tuple[object, ...]:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(explored).result()


def in_a_loop() -> tuple[object, ...]:
    async def main() -> tuple[object, ...]:
        before = asyncio.get_running_loop()
        found = explored()
        assert asyncio.get_running_loop() is before
        await asyncio.sleep(0)
        return found

    return asyncio.run(main())


def deep_down() -> tuple[object, ...]:
    def down(levels: int) -> tuple[object, ...]:
        return down(levels - 1) if levels else explored()

    return down(500)


@contextmanager
def traced() -> Iterator[None]:
    """Trace and profile all code, as debuggers and coverage do."""
    before = sys.gettrace(), sys.getprofile()

    def trace(*_: object) -> Callable[..., object]:
        return trace

    sys.settrace(trace)
    sys.setprofile(trace)
    threading.settrace(trace)
    try:
        yield
        assert sys.gettrace() is trace
        assert sys.getprofile() is trace
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
        threading.settrace(None)  # type: ignore[arg-type]


def under_a_tracer() -> tuple[object, ...]:
    with traced():
        return explored()


def with_an_eager_collector() -> tuple[object, ...]:
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        return explored()
    finally:
        gc.set_threshold(*before)


def without_a_collector() -> tuple[object, ...]:
    gc.disable()
    try:
        return explored()
    finally:
        gc.enable()


def beside_busy_threads() -> tuple[object, ...]:
    over = threading.Event()

    def work() -> None:
        while not over.wait(1e-4):
            queue.Queue[int]().put(1)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            pool.submit(work)
        try:
            return explored()
        finally:
            over.set()


def with_warnings_as_errors() -> tuple[object, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return explored()


@pytest.mark.parametrize(
    "where",
    [
        in_a_thread,
        in_a_loop,
        deep_down,
        under_a_tracer,
        with_an_eager_collector,
        without_a_collector,
        beside_busy_threads,
        with_warnings_as_errors,
    ],
)
def test_an_exploration_comes_to_the_same_anywhere(where: Callable[[], tuple[object, ...]]) -> None:
    """Verdict, number of schedules, outcomes and trace are those of the main thread on a quiet day."""
    assert where() == explored()


def _of_module(name: str) -> dict[str, int]:
    module = sys.modules[name]
    found = {key: id(value) for key, value in vars(module).items() if key != "__warningregistry__"}
    for key, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == name:
            found |= {f"{key}.{part}": id(item) for part, item in vars(value).items()}
    return found


def _process() -> dict[str, object]:
    """Take down all that an exploration may lay its hands on."""
    names = [name for name in sys.modules if name.partition(".")[0] in _LIBRARY]
    return {
        "modules": {name: _of_module(name) for name in sorted(names)},
        "names": sorted(sys.modules),
        "streams": (id(sys.stdout), id(sys.stderr), id(sys.stdin)),
        "path": (list(sys.path), list(map(id, sys.meta_path)), list(map(id, sys.path_hooks))),
        "hooks": (id(sys.excepthook), id(sys.unraisablehook), id(threading.excepthook), id(sys.displayhook)),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled()),
        "tracing": (sys.gettrace(), sys.getprofile(), threading.gettrace()),
        "asyncgens": sys.get_asyncgen_hooks(),
        "threads": threading.enumerate(),
        "callbacks": list(map(id, gc.callbacks)),
        "filters": list(warnings.filters),
        "code": [(id(function.__code__), function.__closure__) for function in (good, racy)],
        "state": (id(_LOCK), _counted),
    }


_LIBRARY = {
    *(
        "builtins",
        "threading",
        "_thread",
        "time",
        "queue",
        "_queue",
        "random",
        "os",
        "posix",
        "sys",
        "signal",
        "_signal",
    ),
    *(
        "select",
        "selectors",
        "socket",
        "_socket",
        "subprocess",
        "asyncio",
        "concurrent",
        "contextvars",
        "logging",
        "uuid",
    ),
    *("secrets", "datetime", "multiprocessing", "sched", "weakref", "io", "functools", "collections", "gc", "numpy"),
    __name__.partition(".")[0],
}


def test_the_process_is_afterwards_what_it_was() -> None:
    """Each name of the modules that are replaced, of their classes and of the scenario's module leads where it led."""

    def explore_all() -> None:
        explored()
        explore(lambda: [][0])
        explore(lambda: time.process_time())
        explore(good, strategy="random", runs=3, timers="explored", instrument=["tests.testbed.kernels"])

    explore_all()  # modules come in that explaining needs
    before = _process()
    explore_all()
    after = _process()
    assert [part for part in before if after[part] != before[part]] == []
    assert explore(good, runs=3).verdict is Verdict.BOUNDED


class _TookTooLong(Exception):
    """What a test runner ends a test by."""


@contextmanager
def _as_python_does() -> Iterator[None]:
    """Let Python ignore what comes up in the callback of a weak reference, if it is what ends an exploration."""
    before = sys.unraisablehook

    def hook(told: sys.UnraisableHookArgs) -> None:
        if not issubclass(told.exc_type, (_TookTooLong, RunEnded)):
            before(told)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _ended_after(seconds: float) -> bool:
    """Explore, with somebody who ends that from a signal handler; tell whether that came in time."""
    exploring = True

    def end(*_: object) -> None:
        if exploring:  # later than that, it has come too late
            raise _TookTooLong

    before = signal.signal(signal.SIGALRM, end)
    try:
        with _as_python_does():
            signal.setitimer(signal.ITIMER_REAL, seconds)
            explore(good, runs=2)
            exploring = False
    except _TookTooLong:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return False


def test_an_exploration_that_is_ended_at_any_moment_leaves_the_process_as_it_was() -> None:
    """Also while it replaces names, and gives them back: half of that would send a lock round in circles."""
    explored()
    shortest, longest = 1e-5, 1.0
    while not _ended_after(longest) and longest > shortest:
        longest /= 2  # about what one takes here and now
    before = _process()  # modules have come in that an end needs
    ended = [_ended_after(longest * 2 * part / 40) for part in range(1, 41)]
    after = _process()
    assert [part for part in before if after[part] != before[part]] == []
    assert any(ended)
    assert explore(good, runs=3).verdict is Verdict.BOUNDED
