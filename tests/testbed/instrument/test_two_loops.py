"""An asynchronous generator that two threads share, each with a loop: real Python does what is found."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import explore
from tests.testbed.instrument.drawn import written
from tests.testbed.instrument.hidden import together
from tests.testbed.instrument.test_programs import Known
from tests.testbed.instrument.two_loops import PROGRAMS

_LIMIT_S = 60

_USES: dict[str, tuple[Callable[[Any], Awaitable[Any]], str]] = {
    "anext": (anext, "anext(): asynchronous generator is already running"),
    "asend": (lambda stream: stream.athrow(KeyError(1)), "athrow(): asynchronous generator is already running"),
    "one_closes_it": (lambda stream: stream.aclose(), "aclose(): asynchronous generator is already running"),
}


@pytest.mark.parametrize("name", _USES)
def test_what_is_found_is_what_real_threads_come_to(name: str, tmp_path: Path) -> None:
    """Where one thread is in the middle of a generator, another one's use raises what the exploration has found."""
    use, message = _USES[name]
    assert _said_by_real_threads(use) == message
    with written(PROGRAMS[name], name, tmp_path) as module:
        sights = Known(module, "dpor").sights
    assert any(f"RuntimeError {message}" in seen for seen in sights), sights


def _said_by_real_threads(use: Callable[[Any], Awaitable[Any]]) -> str:
    entered, leave = threading.Event(), threading.Event()

    async def count() -> AsyncIterator[int]:
        entered.set()
        assert leave.wait(_LIMIT_S)
        yield 1

    async def first() -> int:
        return await anext(stream)

    async def second() -> None:
        await use(stream)

    stream = count()
    thread = threading.Thread(target=asyncio.run, args=(first(),))
    thread.start()
    assert entered.wait(_LIMIT_S)
    try:
        asyncio.run(second())
    except RuntimeError as error:
        return str(error)
    finally:
        leave.set()
        thread.join(_LIMIT_S)
    return "nothing was said"


def test_a_loop_that_ends_while_another_one_uses_its_generator_is_found(tmp_path: Path) -> None:
    """The loop that began a generator closes it at its end, in whatever middle others are."""
    with written(PROGRAMS["a_loop_ends_and_closes_it"], "closes", tmp_path) as module:
        report = explore(module.main, runs=2_000)
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert report.failure is not None
    assert "RuntimeError: aclose(): asynchronous generator is already running" in report.failure.message


_GUARDED = """
import asyncio, contextlib
def main():
    out = []; lock = threading.Lock()
    async def count():
        yield 1
        yield 2
    stream = count()
    async def take():
        with lock: out.append(await anext(stream))
    def turn():
        with contextlib.closing(asyncio.new_event_loop()) as loop: loop.run_until_complete(take())
    run(turn, turn)
    return out
"""


_OWN = """
import asyncio
def main():
    out = []
    async def count():
        yield 1
        await asyncio.sleep(0)
        yield 2
    async def take(): return [number async for number in count()]
    def turn(): out.append(asyncio.run(take()))
    run(turn, turn)
    return out
"""


@pytest.mark.parametrize("body", [_GUARDED, _OWN])
def test_a_generator_under_a_lock_and_one_of_each_loop_hold(body: str, tmp_path: Path) -> None:
    """Nobody is accused who lets one loop at a time use it, or has a generator of its own."""
    with written(together(body), "guarded", tmp_path) as module:
        report = explore(module.main, strategy="dpor", runs=2_000)
    assert report.verdict is Verdict.HOLDS, report.reason
    assert len(report.outcomes) == 1
