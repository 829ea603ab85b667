"""Goroutines that wait for ever: a channel or a group of others, and something that stands in the way."""

from __future__ import annotations

import queue
import threading
from contextlib import nullcontext

from tests.kernels.goker.go import WaitGroup
from tests.kernels.kernel import LOST_WAKEUP, Kernel, together

GO = ("tests.kernels.goker.go",)


def send_under_lock() -> None:
    """Send to a full channel with the lock that its receiver takes first."""
    _send_and_receive(send_lock=threading.Lock())


def send_under_lock_fixed() -> None:
    """Send without it."""
    _send_and_receive(send_lock=None)


def _send_and_receive(send_lock: threading.Lock | None) -> None:
    channel: queue.Queue[int] = queue.Queue(1)
    state_lock = send_lock or threading.Lock()

    def send() -> None:
        for value in (1, 2):
            with send_lock or nullcontext():
                channel.put(value)

    def receive() -> None:
        for _ in range(2):
            with state_lock:
                pass
            channel.get()

    together(send, receive)


def wait_under_lock() -> None:
    """Wait for workers with the lock that they need to get done."""
    _wait_for_worker(hold=True)


def wait_under_lock_fixed() -> None:
    """Wait without it."""
    _wait_for_worker(hold=False)


def _wait_for_worker(*, hold: bool) -> None:
    group, lock = WaitGroup(), threading.Lock()
    group.add(1)

    def work() -> None:
        with lock:
            pass
        group.done()

    def stop() -> None:
        with lock:
            if hold:
                group.wait()
        if not hold:
            group.wait()

    together(work, stop)


def done_forgotten() -> None:
    """A worker leaves on an error without saying that it is done."""
    _work_and_wait(always=False)


def done_forgotten_fixed() -> None:
    """It says so on every way out."""
    _work_and_wait(always=True)


def _work_and_wait(*, always: bool) -> None:
    group, failed = WaitGroup(), threading.Event()
    group.add(1)

    def work() -> None:
        if failed.is_set():
            if always:
                group.done()
            return
        group.done()

    together(work, group.wait, failed.set)


KERNELS = (
    Kernel(send_under_lock, send_under_lock_fixed, LOST_WAKEUP, "queue", "GoKer, kubernetes#10182"),
    Kernel(wait_under_lock, wait_under_lock_fixed, LOST_WAKEUP, "condition", "GoKer, blocking: wait group", GO),
    Kernel(done_forgotten, done_forgotten_fixed, LOST_WAKEUP, "condition", "GoKer, blocking: wait group", GO),
)
