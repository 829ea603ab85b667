"""Sleep on a bell in an event loop: its eventfd becomes readable, and the loop's other tasks run meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from omni_ipc.errors import UsageError
from omni_ipc.transport import bell as bells
from omni_ipc.transport.bell import Bell


async def sleep_unless(bell: Bell, ready: Callable[[], bool], timeout: float) -> None:
    """Do as `Bell.sleep_unless` does; the eventfd is in the loop's hands only while this sleeps.

    Raises:
        UsageError: the bell has no eventfd.
    """
    if (fd := bell.eventfd) is None:
        raise UsageError(
            "This port's doorbell rings no eventfd, so no event loop can wait for it. "
            "Create it with eventfd=os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC), or receive in a thread."
        )
    loop = asyncio.get_running_loop()
    rung = loop.create_future()
    with contextlib.suppress(BlockingIOError):
        os.eventfd_read(fd)  # of earlier rings: whoever rings once this is parked rings anew
    with bell.parked(ready) as seen:
        if seen:
            return
        limit = loop.call_later(min(timeout, bells.LONGEST_SLEEP_S), _settle, rung)
        loop.add_reader(fd, _settle, rung)
        try:
            await rung
        finally:
            loop.remove_reader(fd)
            limit.cancel()


async def let_others_run() -> None:
    """Give the loop's other tasks their turn, and a cancellation the chance to be seen."""
    await asyncio.sleep(0)


def _settle(rung: asyncio.Future[None]) -> None:
    if not rung.done():
        rung.set_result(None)
