"""Threads that meet an event loop which sleeps, is closed, or has gone on meanwhile."""

from __future__ import annotations

import asyncio
import threading

from tests.kernels.kernel import EXCEPTION, LOST_WAKEUP, Kernel


def call_soon() -> None:
    """A thread schedules a callback without waking the loop, which sleeps."""
    asyncio.run(_await_thread(threadsafe=False))


def call_soon_fixed() -> None:
    """It wakes the loop, too."""
    asyncio.run(_await_thread(threadsafe=True))


async def _await_thread(*, threadsafe: bool) -> None:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[int] = loop.create_future()

    def work() -> None:
        if threadsafe:
            loop.call_soon_threadsafe(future.set_result, 1)
        else:
            loop.call_soon(future.set_result, 1)

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    assert await future == 1
    thread.join()


def closed_loop() -> None:
    """A thread tells a loop that may be closed by then."""
    _tell_loop(wait=False)


def closed_loop_fixed() -> None:
    """The loop is not closed before the thread is gone."""
    _tell_loop(wait=True)


def _tell_loop(*, wait: bool) -> None:
    threads: list[threading.Thread] = []

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(lambda: None), name="worker")
        thread.start()
        threads.append(thread)
        if wait:
            await asyncio.to_thread(thread.join)

    asyncio.run(serve())
    threads[0].join()


def check_then_await() -> None:
    """Look whether there is a connection, and wait for one with the loop open to others."""
    _connect_twice(locked=False)


def check_then_await_fixed() -> None:
    """Do both under a lock."""
    _connect_twice(locked=True)


def _connect_twice(*, locked: bool) -> None:
    made: list[int] = []
    connection: int | None = None

    async def connect() -> None:
        nonlocal connection
        if connection is None:
            made.append(await asyncio.to_thread(int))
            connection = made[-1]

    async def serve() -> None:
        lock = asyncio.Lock()

        async def use() -> None:
            if locked:
                async with lock:
                    await connect()
            else:
                await connect()

        await asyncio.gather(use(), use())

    asyncio.run(serve())
    assert len(made) == 1, f"connected {len(made)} times"


def unsafe_event() -> None:
    """A thread sets an event of the loop."""
    asyncio.run(_set_event(threadsafe=False))


def unsafe_event_fixed() -> None:
    """It lets the loop set it."""
    asyncio.run(_set_event(threadsafe=True))


async def _set_event(*, threadsafe: bool) -> None:
    event, loop = asyncio.Event(), asyncio.get_running_loop()

    def work() -> None:
        if threadsafe:
            loop.call_soon_threadsafe(event.set)
        else:
            event.set()

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    await event.wait()
    thread.join()


KERNELS = (
    Kernel(call_soon, call_soon_fixed, LOST_WAKEUP, "loop", "asyncio documentation: call_soon is not thread-safe"),
    Kernel(unsafe_event, unsafe_event_fixed, LOST_WAKEUP, "loop", "asyncio documentation: Event is not thread-safe"),
    Kernel(closed_loop, closed_loop_fixed, EXCEPTION, "Event loop is closed", "asyncio documentation: the loop's end"),
    Kernel(check_then_await, check_then_await_fixed, EXCEPTION, "connected 2 times", "Connection pools of asyncio"),
)
