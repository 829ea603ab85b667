"""Goroutines that all come to an end, and to the wrong one: something happens before what should come first."""

from __future__ import annotations

import threading
from contextlib import suppress

from tests.kernels.goker.go import Channel, Closed, WaitGroup
from tests.kernels.kernel import EXCEPTION, Kernel, together

GO = ("tests.kernels.goker.go",)


class Stream:
    """A channel, and whether it was closed, as far as it was told."""

    def __init__(self) -> None:
        self.values = Channel(2)
        self.closed = False
        self.lock = threading.Lock()

    def close(self) -> None:
        """Close it, unless that was done: looked for first, and noted last."""
        if not self.closed:
            self.values.close()
            self.closed = True

    def close_once(self) -> None:
        """Do so under a lock."""
        with self.lock:
            self.close()

    def send(self) -> None:
        """Send a value, unless it is closed: looked for first."""
        if not self.closed:
            self.values.send(1)

    def send_if_open(self) -> None:
        """Do so under a lock."""
        with self.lock:
            self.send()


def close_twice() -> None:
    """Look whether a channel is closed, and close it."""
    stream = Stream()
    together(stream.close, stream.close)


def close_twice_fixed() -> None:
    """Do both under a lock."""
    stream = Stream()
    together(stream.close_once, stream.close_once)


def send_on_closed() -> None:
    """Look whether a channel is closed, and send on it."""
    stream = Stream()
    together(stream.send, stream.close)


def send_on_closed_fixed() -> None:
    """Do both under a lock."""
    stream = Stream()
    together(stream.send_if_open, stream.close_once)


class Server:
    """Something that has a handler when it was started."""

    def __init__(self) -> None:
        self.handler: list[str] | None = None
        self.started = threading.Event()

    def start(self) -> None:
        self.handler = []
        self.started.set()


def order_violation() -> None:
    """Use what the other one is about to make."""
    server = Server()
    together(server.start, lambda: server.handler.append("request"))  # type: ignore[union-attr]


def order_violation_fixed() -> None:
    """Wait for it."""
    server = Server()

    def use() -> None:
        server.started.wait()
        assert server.handler is not None
        server.handler.append("request")

    together(server.start, use)


def select_race() -> None:
    """Work and an end are there: look for the end once, and do all the work."""
    _work_until_stopped(look_again=False)


def select_race_fixed() -> None:
    """Look for the end under the lock of each piece of work."""
    _work_until_stopped(look_again=True)


def _work_until_stopped(*, look_again: bool) -> None:
    stopped, lock, done = False, threading.Lock(), list[bool]()

    def work() -> None:
        if stopped:
            return
        for _ in range(2):
            with lock:
                if look_again and stopped:
                    return
                done.append(stopped)

    def stop() -> None:
        nonlocal stopped
        with lock:
            stopped = True

    together(work, stop)
    assert True not in done, "worked after the end"


def add_inside() -> None:
    """A worker adds itself to the group that is waited for, when it runs at last."""
    _start_and_wait(inside=True)


def add_inside_fixed() -> None:
    """It is added before it is started."""
    _start_and_wait(inside=False)


def _start_and_wait(*, inside: bool) -> None:
    group, results = WaitGroup(), list[int]()
    if not inside:
        group.add(1)

    def work() -> None:
        if inside:
            group.add(1)
        results.append(1)
        group.done()

    def wait() -> None:
        group.wait()
        assert results == [1], f"waited for {results}"

    together(work, wait)


class Pool:
    """A connection that may be gone."""

    def __init__(self) -> None:
        self.connection: Channel | None = Channel(1)
        self.lock = threading.Lock()


def use_after_close() -> None:
    """Take the connection under the lock, and use it without."""
    pool = Pool()

    def use() -> None:
        with pool.lock:
            connection = pool.connection
        if connection is not None:
            connection.send(1)

    together(use, lambda: _close(pool))


def use_after_close_fixed() -> None:
    """Use it under the lock."""
    pool = Pool()

    def use() -> None:
        with pool.lock:
            if pool.connection is not None:
                pool.connection.send(1)

    together(use, lambda: _close(pool))


def _close(pool: Pool) -> None:
    with pool.lock:
        connection, pool.connection = pool.connection, None
    if connection is not None:
        with suppress(Closed):
            connection.close()


KERNELS = (
    Kernel(close_twice, close_twice_fixed, EXCEPTION, "close of closed channel", "GoKer, non-blocking: channel", GO),
    Kernel(send_on_closed, send_on_closed_fixed, EXCEPTION, "send on closed channel", "GoKer, grpc#1687", GO),
    Kernel(order_violation, order_violation_fixed, EXCEPTION, "NoneType", "GoKer, non-blocking: order violation"),
    Kernel(select_race, select_race_fixed, EXCEPTION, "worked after the end", "GoKer, non-blocking: select"),
    Kernel(add_inside, add_inside_fixed, EXCEPTION, "waited for []", "GoKer, non-blocking: wait group", GO),
    Kernel(
        use_after_close,
        use_after_close_fixed,
        EXCEPTION,
        "send on closed channel",
        "GoKer, non-blocking",
        GO,
    ),
)
