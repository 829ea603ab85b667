"""One account of a wait for two kinds of waiters: those that block, and those that await.

What is to be done around the waits is a generator, which yields what it waits for next and looks by itself whether it
came. It is driven by a thread that blocks, or by a coroutine of any event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from concurrent.futures import CancelledError
from typing import Any, NamedTuple, TypeVar, cast

from omni_ipc.seam.api import Future

T = TypeVar("T")


class Wait(NamedTuple):
    """Until the future is settled, or the time is up.

    Args:
        timeout_s: None for no limit.
    """

    future: Future[Any]
    timeout_s: float | None = None


Account = Generator[Wait, None, T]


def follow_blocking(account: Account[T]) -> T:
    """Do what the account says, and block at its waits."""
    with contextlib.closing(account):
        while True:
            try:
                wait = next(account)
            except StopIteration as end:
                return cast("T", end.value)
            with contextlib.suppress(TimeoutError, CancelledError):
                wait.future.exception(wait.timeout_s)
            del wait  # an error that keeps this frame alive keeps no output


async def follow(account: Account[T]) -> T:
    """Do what the account says, and await at its waits.

    Who cancels the coroutine closes the account, and cancels the future that it waits for.
    """
    with contextlib.closing(account):
        while True:
            try:
                wait = next(account)
            except StopIteration as end:
                return cast("T", end.value)
            await _settled(wait)
            del wait  # see above


async def _settled(wait: Wait) -> None:
    """Await without taking the result: it may come at the moment at which the time is up, and is not lost then."""
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()
    waiters = [waiter]  # a future keeps its callbacks for ever; they shall not keep a consumer whose loop was closed

    def wake(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(_wake, waiters.pop())

    wait.future.add_done_callback(wake)
    try:
        await asyncio.wait((waiter,), timeout=wait.timeout_s)
    finally:
        wait.future.cancel()
        if not loop.is_closed():  # else nobody is left to be told
            waiter.cancel()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
