"""Goroutines that wait for ever, and a channel has to do with it."""

from __future__ import annotations

import contextlib
import queue
import threading

from tests.kernels.goker.go import Channel, Closed
from tests.kernels.kernel import LEAK, LOST_WAKEUP, Kernel, together

GO = ("tests.kernels.goker.go",)


def send_to_nobody() -> None:
    """The receiver is cancelled, and goes; the sender waits for it still."""
    _work_and_cancel(places=0)


def send_to_nobody_fixed() -> None:
    """The channel has a place for the answer that nobody takes."""
    _work_and_cancel(places=1)


def _work_and_cancel(places: int) -> None:
    answers = Channel(places)
    cancelled = threading.Event()

    def work() -> None:
        answers.send("answer")

    def ask() -> None:
        if not cancelled.is_set():
            answers.receive()

    together(work, ask, cancelled.set)


def lost_signal() -> None:
    """Signal that something is there, to whoever waits by now."""
    _signal_and_wait(look=False)


def lost_signal_fixed() -> None:
    """Say so in a variable, too, and look at it before waiting."""
    _signal_and_wait(look=True)


def _signal_and_wait(*, look: bool) -> None:
    there, changed = False, threading.Condition()

    def signal() -> None:
        nonlocal there
        with changed:
            there = True
            changed.notify()

    def wait() -> None:
        with changed:
            if not look or not there:
                changed.wait()

    together(signal, wait)


def never_closed() -> None:
    """A producer that stops early does not close the channel; its consumer takes all there is, and waits for more."""
    _produce_and_consume(always=False)


def never_closed_fixed() -> None:
    """It closes the channel on every way out."""
    _produce_and_consume(always=True)


def _produce_and_consume(*, always: bool) -> None:
    values, stopped = Channel(1), threading.Event()

    def produce() -> None:
        values.send(1)
        if stopped.is_set():
            if always:
                values.close()
            return
        values.close()

    def consume() -> None:
        with contextlib.suppress(Closed):
            while True:
                values.receive()

    together(produce, consume, stopped.set)


def cancel_forgotten() -> None:
    """Start who waits for the context to be cancelled, and leave on an error without cancelling it."""
    _connect(always=False)


def cancel_forgotten_fixed() -> None:
    """Cancel it on every way out."""
    _connect(always=True)


def _connect(*, always: bool) -> None:
    cancelled, refused = threading.Event(), threading.Event()
    threading.Thread(target=cancelled.wait, name="watcher").start()
    threading.Thread(target=refused.set, name="server").start()
    if refused.is_set():
        if always:
            cancelled.set()
        return
    cancelled.set()


def two_errors() -> None:
    """Two may fail, one error is taken, and the channel has room for none."""
    _fail_twice(places=0)


def two_errors_fixed() -> None:
    """It has room for the other."""
    _fail_twice(places=1)


def _fail_twice(places: int) -> None:
    errors = Channel(places)
    together(lambda: errors.send("one"), lambda: errors.send("other"), errors.receive)


def full_circle() -> None:
    """Two stages feed each other through channels of one place: both are full."""
    _feed_each_other(places=1)


def full_circle_fixed() -> None:
    """There is room for all that can be on its way."""
    _feed_each_other(places=2)


def _feed_each_other(places: int) -> None:
    one: queue.Queue[int] = queue.Queue(places)
    other: queue.Queue[int] = queue.Queue(places)

    def pass_on(source: queue.Queue[int], target: queue.Queue[int]) -> None:
        for value in (1, 2):
            target.put(value)
        for _ in range(2):
            source.get()

    together(lambda: pass_on(one, other), lambda: pass_on(other, one))


KERNELS = (
    Kernel(send_to_nobody, send_to_nobody_fixed, LOST_WAKEUP, "condition", "GoKer, kubernetes#5316", GO),
    Kernel(lost_signal, lost_signal_fixed, LOST_WAKEUP, "condition", "GoKer, moby#30408"),
    Kernel(never_closed, never_closed_fixed, LOST_WAKEUP, "condition", "GoKer, grpc#660", GO),
    Kernel(cancel_forgotten, cancel_forgotten_fixed, LEAK, "watcher", "GoKer, blocking: context"),
    Kernel(two_errors, two_errors_fixed, LOST_WAKEUP, "condition", "GoKer, blocking: channel", GO),
    Kernel(full_circle, full_circle_fixed, LOST_WAKEUP, "queue", "GoKer, blocking: channel"),
)
