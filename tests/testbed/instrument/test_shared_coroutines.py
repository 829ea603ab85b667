"""A coroutine that two threads await, each in a loop of its own: real Python does what is found."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import explore, replay
from tests.testbed.instrument.drawn import written
from tests.testbed.instrument.hidden import together
from tests.testbed.instrument.shared_coroutines import PROGRAMS
from tests.testbed.instrument.test_programs import Known
from tests.testbed.instrument.two_loops import LOOPS

_LIMIT_S = 60


def _said_where_it_runs() -> str:
    """Let a thread be in the middle of it."""
    entered, leave = threading.Event(), threading.Event()

    async def once() -> None:
        entered.set()
        assert leave.wait(_LIMIT_S)

    shared = once()
    thread = threading.Thread(target=asyncio.run, args=(shared,))
    thread.start()
    assert entered.wait(_LIMIT_S)
    try:
        return _said(shared)
    finally:
        leave.set()
        thread.join(_LIMIT_S)


def _said_where_it_waits() -> str:
    """Let the loop of another thread be where it has run it, and it waits."""

    async def once() -> None:
        await asyncio.sleep(0)

    async def first() -> None:
        await shared

    shared = once()
    with closing(asyncio.new_event_loop()) as loop:
        task = loop.create_task(first())
        loop.call_soon(loop.stop)
        loop.run_forever()
        said = _said_by_a_thread(shared)
        loop.run_until_complete(task)
    return said


def _said_where_it_has_ended() -> str:
    async def once() -> None:
        """End at once."""

    shared = once()
    asyncio.run(shared)
    return _said(shared)


def _said_by_a_thread(shared: Coroutine[Any, Any, None]) -> str:
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(_said(shared)))
    thread.start()
    thread.join(_LIMIT_S)
    return said[0]


def _said(shared: Coroutine[Any, Any, None]) -> str:
    """Await it in a loop of one's own."""

    async def second() -> None:
        await shared

    try:
        asyncio.run(second())
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__} {error}"
    return "nothing"


@pytest.mark.parametrize("said", [_said_where_it_runs, _said_where_it_waits, _said_where_it_has_ended])
def test_what_is_found_is_what_real_threads_come_to(said: Callable[[], str], tmp_path: Path) -> None:
    """Wherever a coroutine is when a second thread awaits it, the exploration has found what is said then."""
    with written(PROGRAMS["coroutine_it_waits"], "waits", tmp_path) as module:
        sights = Known(module, "dpor").sights
    assert any(said() in seen for seen in sights), sights


def test_an_order_in_which_it_matters_replays(tmp_path: Path) -> None:
    """A coroutine that waits in another loop is found to do so; the schedule does it again, and is a short one."""
    with written(PROGRAMS["coroutine_it_waits"], "replays", tmp_path) as module:

        def scenario() -> None:
            assert not any("is being awaited already" in said for said in module.main())

        report = explore(scenario, instrument=["replays"], runs=2_000)
        assert report.failure is not None, report.reason
        assert report.trace is not None
        assert replay(scenario, report.trace).failure == report.failure


_BESIDE = """
def main():
    out = []; box = {"x": 0}; other = {"y": 0}; tasks = []
    async def beside(): other["y"] = 1
    async def once():
        tasks.append(asyncio.ensure_future(beside()))
        box["x"] = 1
        await asyncio.sleep(0)
    shared = once()
    async def a():
        try: await shared
        except (RuntimeError, ValueError): pass
    async def b():
        x = box["x"]
        try: await shared
        except (RuntimeError, ValueError) as e: out.append((x, said(e), other["y"]))
    loops(a, b); return out
"""


def test_it_runs_up_to_where_it_waits(tmp_path: Path) -> None:
    """Another thread may come behind all that it does before, and ahead of what its loop runs while it waits."""
    with written(together(LOOPS + _BESIDE), "beside", tmp_path) as module:
        report = explore(module.main, strategy="dpor", runs=2_000)
    assert report.verdict is Verdict.HOLDS, report.reason
    assert str([(1, "ValueError coroutine already executing", 0)]) in report.outcomes


_EAGER = """
def main():
    out = []
    async def once(): await asyncio.sleep(0)
    shared = once()
    async def take():
        loop = asyncio.get_running_loop()
        loop.set_task_factory(asyncio.eager_task_factory)
        try: out.append(await loop.create_task(shared))
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(take, take); return sorted(map(str, out))
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no task of Python 3.11 runs at once")
def test_a_task_that_runs_at_once_is_seen_to(tmp_path: Path) -> None:
    """No callback of its loop lets it go on then."""
    with written(together(LOOPS + _EAGER), "eager", tmp_path) as module:
        report = explore(module.main, strategy="dpor", runs=2_000)
    said = ("RuntimeError cannot reuse already awaited coroutine", "ValueError coroutine already executing")
    assert sorted(report.outcomes) == [str(["None", each]) for each in said], report.reason


_GUARDED = """
def main():
    out = []; lock = threading.Lock()
    async def once(): return 1
    shared = once()
    async def take():
        with lock:
            try: out.append(await shared)
            except RuntimeError as e: out.append(said(e))
    loops(take, take); return out
"""

_OWN = """
def main():
    out = []
    async def once():
        await asyncio.sleep(0)
        return 1
    async def take(): out.append(await once())
    loops(take, take); return out
"""

_HANDED = """
def main():
    out = []
    async def once():
        await asyncio.sleep(0)
        return 1
    async def take():
        loop = asyncio.get_running_loop()
        def post(): out.append(asyncio.run_coroutine_threadsafe(once(), loop).result())
        await asyncio.to_thread(post)
    asyncio.run(take()); return out
"""


@pytest.mark.parametrize("body", [_GUARDED, _OWN, _HANDED])
def test_one_under_a_lock_one_of_each_loop_and_one_that_is_handed_on_hold(body: str, tmp_path: Path) -> None:
    """Nobody is accused who lets one loop at a time await it, has one of its own, or hands it to a loop."""
    with written(together(LOOPS + body), "guarded", tmp_path) as module:
        report = explore(module.main, strategy="dpor", runs=2_000)
    assert report.verdict is Verdict.HOLDS, report.reason
    assert len(report.outcomes) == 1


def test_one_of_the_library_is_told(tmp_path: Path) -> None:
    """Nobody can come in the middle of its code, so it is not said that all was seen."""
    with written(PROGRAMS["coroutine_one_of_the_library"], "library", tmp_path) as module:
        report = explore(module.main, strategy="dpor", runs=2_000)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "what is used by asyncio.tasks.sleep, a coroutine, and that has no points inside" in report.reason


def test_a_generator_of_a_module_stays_awaitable(tmp_path: Path) -> None:
    """What `types.coroutine` has made of a function is not lost when that gets points."""
    source = "import types, asyncio\n@types.coroutine\ndef once():\n    yield\n    return 1\n"
    source += "async def take(): return await once()\ndef main(): return asyncio.run(take())\n"
    with written(source, "awaitable", tmp_path) as module:
        report = explore(module.main, strategy="dpor", runs=100)
    assert report.outcomes == ("1",), report.reason
