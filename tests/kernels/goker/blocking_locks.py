"""Goroutines that wait for ever, and a mutex has to do with it."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext

from tests.kernels.goker.go import RWMutex
from tests.kernels.kernel import DEADLOCK, LOST_WAKEUP, Kernel, together

GO = ("tests.kernels.goker.go",)


class Device:
    """Something that may be busy."""

    def __init__(self) -> None:
        self.busy = False
        self.lock = threading.Lock()


def missing_unlock() -> None:
    """Return from the middle, where the device is busy, with its lock."""
    device = Device()

    def remove() -> None:
        device.lock.acquire()
        if device.busy:
            return
        device.lock.release()

    together(remove, lambda: _mark_busy(device), lambda: _mark_busy(device))


def missing_unlock_fixed() -> None:
    """Give the lock back on every way out."""
    device = Device()

    def remove() -> None:
        with device.lock:
            if device.busy:
                return

    together(remove, lambda: _mark_busy(device), lambda: _mark_busy(device))


def _mark_busy(device: Device) -> None:
    with device.lock:
        device.busy = True


class Listeners:
    """Who is to be told of changes."""

    def __init__(self, lock: AbstractContextManager[object]) -> None:
        self.lock = lock
        self.names: list[str] = []
        self.told: list[str] = []

    def register(self, name: str) -> None:
        with self.lock:
            self.names.append(name)

    def change(self) -> None:
        with self.lock:
            for name in self.names:
                self.tell(name)

    def tell(self, name: str) -> None:
        with self.lock:
            self.told.append(name)


def double_lock() -> None:
    """Call what takes the lock with the lock held, if there is a listener."""
    _register_and_change(threading.Lock())


def double_lock_fixed() -> None:
    """A lock that its holder may take again."""
    _register_and_change(threading.RLock())


def _register_and_change(lock: AbstractContextManager[object]) -> None:
    listeners = Listeners(lock)
    together(lambda: listeners.register("x"), listeners.change)


def read_write_read() -> None:
    """Read, and read again under the first read: a writer that came between holds up the second."""
    mutex = RWMutex()

    def read_twice() -> None:
        with mutex.reading():
            with mutex.reading():
                pass

    together(read_twice, lambda: _write(mutex))


def read_write_read_fixed() -> None:
    """Read once for both."""
    mutex = RWMutex()

    def read() -> None:
        with mutex.reading():
            pass

    together(read, lambda: _write(mutex))


def _write(mutex: RWMutex) -> None:
    with mutex.writing():
        pass


class Layer:
    """A part with a lock, that calls the other one with the lock held."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.other: Layer | None = None
        self.entries = 0

    def update(self) -> None:
        with self.lock:
            self.entries += 1
            if self.other is not None:
                self.other.invalidate()

    def invalidate(self) -> None:
        with self.lock:
            self.entries = 0


def ab_ba() -> None:
    """Two parts update each other."""
    store, cache = Layer(), Layer()
    store.other, cache.other = cache, store
    together(store.update, cache.update)


def ab_ba_fixed() -> None:
    """One updates the other."""
    store, cache = Layer(), Layer()
    store.other = cache
    together(store.update, cache.update)


def nested_monitor() -> None:
    """Wait on a condition with one more lock held, which who would tell needs."""
    _wait_inside(threading.Lock())


def nested_monitor_fixed() -> None:
    """Wait with nothing held but the condition."""
    _wait_inside(nullcontext())


def _wait_inside(outer: AbstractContextManager[object]) -> None:
    ready, changed = False, threading.Condition()

    def wait() -> None:
        with outer, changed:
            while not ready:
                changed.wait()

    def tell() -> None:
        nonlocal ready
        with outer, changed:
            ready = True
            changed.notify()

    together(wait, tell)


KERNELS = (
    Kernel(missing_unlock, missing_unlock_fixed, LOST_WAKEUP, "lock", "GoKer, cockroach#584"),
    Kernel(double_lock, double_lock_fixed, DEADLOCK, "lock", "GoKer, moby#36114"),
    Kernel(read_write_read, read_write_read_fixed, LOST_WAKEUP, "condition", "GoKer, cockroach#6181", GO),
    Kernel(ab_ba, ab_ba_fixed, DEADLOCK, "lock", "GoKer, moby#4951"),
    Kernel(nested_monitor, nested_monitor_fixed, LOST_WAKEUP, "condition", "GoKer, blocking: condition variable"),
)
