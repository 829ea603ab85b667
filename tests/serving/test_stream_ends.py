"""Streams that are left, and awaits that end, in an event loop under the testbed: at once, and in their time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from omni_ipc.seam.api import Future
from omni_ipc.seam.futures import resolve
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome
from omni_ipc.serving.streams import OutputStream
from omni_ipc.serving.waiting import Account, Wait, follow
from omni_ipc.testbed import ControlledRuntime
from tests.serving.exhausting import exhaust
from tests.support.table_executor import TableExecutor, assert_settled, engine_over

R = Request("r")
LIMIT_S = 1.0


@pytest.mark.parametrize("leaving", [lambda stream: stream, contextlib.aclosing], ids=["stream", "aclosing"])
def test_a_stream_that_is_left_ends_its_request_though_somebody_keeps_it(
    leaving: Callable[[OutputStream], Any],
) -> None:
    """Whether it is computed by then or not."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt)
        with engine_over(rt, executor) as engine:
            stream = engine.submit(R)

            async def leave() -> None:
                async with leaving(stream):
                    await asyncio.sleep(0)

            asyncio.run(leave())
            statistics = engine.statistics()
            assert (statistics.open, statistics.ended[Outcome.ABORTED]) == (0, 1)
        assert_settled(engine, executor)

    exhaust(scenario)


def waited(future: Future[Any], limit_s: float | None) -> Account[bool]:
    """Wait once, and tell whether it came."""
    yield Wait(future, limit_s)
    return future.done() and not future.cancelled()


def test_an_await_ends_in_its_time_and_gives_up_what_it_waited_for() -> None:
    """What comes at the last moment is not lost, and nobody settles what was given up."""
    seen = set[bool]()

    def scenario(rt: ControlledRuntime) -> None:
        future = rt.future()

        def settle() -> None:
            rt.sleep(LIMIT_S)
            resolve(future, "value")

        settling = rt.spawn(settle, name="pump")
        came = asyncio.run(follow(waited(future, LIMIT_S)))
        assert rt.now() == LIMIT_S
        settling.join()
        assert future.cancelled() is not came
        seen.add(came)

    exhaust(scenario)
    assert seen == {True, False}


def test_an_await_that_is_cancelled_gives_up_what_it_waited_for() -> None:
    """At once; what is settled behind that tells nobody."""

    def scenario(rt: ControlledRuntime) -> None:
        future = rt.future()

        async def leave() -> None:
            waiting = asyncio.create_task(follow(waited(future, None)))
            await asyncio.sleep(0)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waiting
            assert future.done(), "whoever would settle it does not know that nobody waits"

        late = rt.spawn(lambda: resolve(future, "value"), name="pump")
        asyncio.run(leave())
        late.join()
        assert rt.now() == 0

    exhaust(scenario)
