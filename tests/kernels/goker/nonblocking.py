"""Goroutines that all come to an end, and to the wrong one: what they share is touched by two."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext

from tests.kernels.goker.go import RWMutex
from tests.kernels.kernel import EXCEPTION, Kernel, together

GO = ("tests.kernels.goker.go",)


def captured_variable() -> None:
    """Goroutines that are started in a loop look at its variable when it has moved on."""
    seen: list[int] = []
    threads = []
    for number in range(2):
        thread = threading.Thread(target=lambda: seen.append(number))  # noqa: B023 - that is the fault
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    assert sorted(seen) == [0, 1], f"saw {seen}"


def captured_variable_fixed() -> None:
    """Each gets its number when it is started."""
    seen: list[int] = []
    threads = []
    for number in range(2):
        thread = threading.Thread(target=seen.append, args=(number,))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    assert sorted(seen) == [0, 1], f"saw {seen}"


def unsafe_map() -> None:
    """Look whether a key is there, and take what it leads to later."""
    _look_up_and_delete(nullcontext())


def unsafe_map_fixed() -> None:
    """Do both under a lock."""
    _look_up_and_delete(threading.Lock())


def _look_up_and_delete(lock: AbstractContextManager[object]) -> None:
    pods = {"a": 1}

    def look_up() -> None:
        with lock:
            if "a" in pods:
                assert pods["a"] == 1

    def delete() -> None:
        with lock:
            pods.pop("a")

    together(look_up, delete)


def shared_error() -> None:
    """Two calls put their errors into one variable: a success overwrites a failure."""
    error: str | None = None

    def call(result: str | None) -> None:
        nonlocal error
        error = result

    together(lambda: call("refused"), lambda: call(None))
    assert error == "refused", f"the error is {error}"


def shared_error_fixed() -> None:
    """Each has its own."""
    errors: dict[str, str | None] = {}

    def call(name: str, result: str | None) -> None:
        errors[name] = result

    together(lambda: call("a", "refused"), lambda: call("b", None))
    assert errors == {"a": "refused", "b": None}, f"the errors are {errors}"


class Metrics:
    """A count under a mutex of readers and writers."""

    def __init__(self) -> None:
        self.count = 0
        self.mutex = RWMutex()

    def count_as_reader(self) -> None:
        with self.mutex.reading():
            self.count += 1

    def count_as_writer(self) -> None:
        with self.mutex.writing():
            self.count += 1


def write_under_read_lock() -> None:
    """Count with the lock of readers, of which there may be two."""
    metrics = Metrics()
    together(metrics.count_as_reader, metrics.count_as_reader)
    assert metrics.count == 2, f"counted {metrics.count} of 2"


def write_under_read_lock_fixed() -> None:
    """Count with the lock of writers."""
    metrics = Metrics()
    together(metrics.count_as_writer, metrics.count_as_writer)
    assert metrics.count == 2, f"counted {metrics.count} of 2"


class Flag:
    """A flag that is loaded and stored at once, or exchanged."""

    def __init__(self) -> None:
        self.value = False
        self._lock = threading.Lock()

    def set_if_clear(self) -> bool:
        """Set it, and tell whether it was clear."""
        with self._lock:
            was, self.value = self.value, True
            return not was


def load_then_store() -> None:
    """Start what is not active, and say later that it is."""
    active = Flag()
    started: list[str] = []

    def start() -> None:
        if not active.value:
            active.value = True
            started.append("x")

    together(start, start)
    assert len(started) == 1, f"started {len(started)} times"


def load_then_store_fixed() -> None:
    """Do both at once."""
    active = Flag()
    started: list[str] = []

    def start() -> None:
        if active.set_if_clear():
            started.append("x")

    together(start, start)
    assert len(started) == 1, f"started {len(started)} times"


def lost_append() -> None:
    """Make a longer list of a list, and put it in its place."""
    items: list[str] = []

    def append(item: str) -> None:
        nonlocal items
        items = [*items, item]

    together(lambda: append("a"), lambda: append("b"))
    assert sorted(items) == ["a", "b"], f"there is {items}"


def lost_append_fixed() -> None:
    """Lengthen the one that there is."""
    items: list[str] = []
    together(lambda: items.append("a"), lambda: items.append("b"))
    assert sorted(items) == ["a", "b"], f"there is {items}"


def once_too_early() -> None:
    """Who comes second finds that it was begun, and takes it for done."""
    _set_up_once(wait=False)


def once_too_early_fixed() -> None:
    """Who comes second waits until it is."""
    _set_up_once(wait=True)


def _set_up_once(*, wait: bool) -> None:
    begun, lock, done = False, threading.Lock(), threading.Event()
    client: str | None = None

    def use() -> None:
        nonlocal begun, client
        with lock:
            first, begun = not begun, True
        if first:
            client = "client"
            done.set()
        elif wait:
            done.wait()
        assert client == "client", "used before it was set up"

    together(use, use)


KERNELS = (
    Kernel(captured_variable, captured_variable_fixed, EXCEPTION, "saw [1", "GoKer, cockroach#35501"),
    Kernel(unsafe_map, unsafe_map_fixed, EXCEPTION, "KeyError", "GoKer, non-blocking: map"),
    Kernel(shared_error, shared_error_fixed, EXCEPTION, "the error is None", "GoKer, non-blocking: shared variable"),
    Kernel(
        write_under_read_lock,
        write_under_read_lock_fixed,
        EXCEPTION,
        "counted 1 of 2",
        "GoKer, non-blocking",
        GO,
    ),
    Kernel(load_then_store, load_then_store_fixed, EXCEPTION, "started 2 times", "GoKer, non-blocking: atomic"),
    Kernel(lost_append, lost_append_fixed, EXCEPTION, "there is ['", "GoKer, non-blocking: slice"),
    Kernel(once_too_early, once_too_early_fixed, EXCEPTION, "used before it was set up", "GoKer, non-blocking: once"),
)
