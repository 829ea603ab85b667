"""Work that is cancelled on one side of the border, and goes on at the other."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.kernels.kernel import EXCEPTION, LOST_WAKEUP, Kernel, together

_PATIENCE_S = 0.05


def done_before_result() -> None:
    """A thread looks whether a future is done, and sets its result: who awaits it cancels it between the two."""
    asyncio.run(_cancel_and_resolve(claim=False))


def done_before_result_fixed() -> None:
    """It claims the future first; from then on it cannot be cancelled."""
    asyncio.run(_cancel_and_resolve(claim=True))


async def _cancel_and_resolve(*, claim: bool) -> None:
    future: concurrent.futures.Future[int] = concurrent.futures.Future()

    def work() -> None:
        if future.set_running_or_notify_cancel() if claim else not future.done():
            future.set_result(1)

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    awaited = asyncio.wrap_future(future)
    awaited.cancel()
    await asyncio.wait({awaited})
    thread.join()


def timed_out_get() -> None:
    """A thread gives up on an item, which has just been taken out of the queue for it."""

    def get(items: asyncio.Queue[str], loop: asyncio.AbstractEventLoop) -> str | None:
        future = asyncio.run_coroutine_threadsafe(items.get(), loop)
        try:
            return future.result(timeout=_PATIENCE_S)
        except TimeoutError:
            future.cancel()
            return None

    _get_with_patience(get)


def timed_out_get_fixed() -> None:
    """The loop, which takes it out, gives up."""

    def get(items: asyncio.Queue[str], loop: asyncio.AbstractEventLoop) -> str | None:
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(items.get(), _PATIENCE_S), loop)
        try:
            return future.result()
        except TimeoutError:
            return None

    _get_with_patience(get)


def _get_with_patience(get: Callable[[asyncio.Queue[str], asyncio.AbstractEventLoop], str | None]) -> None:
    taken: list[str | None] = []

    async def serve() -> None:
        items: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=lambda: taken.append(get(items, loop)), name="consumer")
        thread.start()
        await asyncio.sleep(_PATIENCE_S)
        items.put_nowait("item")
        await asyncio.to_thread(thread.join)
        taken.extend(items.get_nowait() for _ in range(items.qsize()))

    asyncio.run(serve())
    assert "item" in taken, f"taken: {taken}"


def executor_shutdown() -> None:
    """A coroutine hands work to an executor that a thread shuts down."""
    _submit_and_shut_down(wait=False)


def executor_shutdown_fixed() -> None:
    """The thread waits until all work is handed over."""
    _submit_and_shut_down(wait=True)


def _submit_and_shut_down(*, wait: bool) -> None:
    executor, handed_over = ThreadPoolExecutor(1), threading.Event()

    async def submit() -> None:
        future = asyncio.get_running_loop().run_in_executor(executor, int)
        handed_over.set()
        assert await future == 0

    def stop() -> None:
        if wait:
            handed_over.wait()
        executor.shutdown()

    together(lambda: asyncio.run(submit()), stop)


def cancelled_in_executor() -> None:
    """Cancel who waits in a thread: the thread waits on, and the end of its pool waits for it."""
    _wait_in_thread_and_cancel(wake=False)


def cancelled_in_executor_fixed() -> None:
    """Wake the thread, too."""
    _wait_in_thread_and_cancel(wake=True)


def _wait_in_thread_and_cancel(*, wake: bool) -> None:
    items: queue.Queue[None] = queue.Queue()
    pool = ThreadPoolExecutor(1, thread_name_prefix="pool")

    async def serve() -> None:
        waiter = asyncio.get_running_loop().run_in_executor(pool, items.get)
        await asyncio.sleep(0)
        waiter.cancel()
        if wake:
            items.put(None)
        await asyncio.wait({waiter})
        pool.shutdown()

    asyncio.run(serve())


KERNELS = (
    Kernel(
        done_before_result, done_before_result_fixed, EXCEPTION, "InvalidStateError", "The future_orphan of the field"
    ),
    Kernel(timed_out_get, timed_out_get_fixed, EXCEPTION, "taken: [None]", "asyncio.wait_for, before Python 3.12"),
    Kernel(executor_shutdown, executor_shutdown_fixed, EXCEPTION, "after shutdown", "asyncio's run_in_executor"),
    Kernel(cancelled_in_executor, cancelled_in_executor_fixed, LOST_WAKEUP, "pool_0", "run_in_executor, cancelled"),
)
