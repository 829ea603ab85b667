"""Whatever a thread does to a loop, its futures and asyncio's objects out of turn may come at any time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from omni_ipc.records import FailureKind
from omni_ipc.testbed import explore, loops
from omni_ipc.testbed.standard.world import running
from tests.testbed.loops.test_finds import found, holds, in_thread, run


def _looks(act: Callable[[asyncio.Queue[int]], object], look: Callable[[asyncio.Queue[int]], object]) -> set[str]:
    """Return what a loop can see of an asyncio queue that a thread uses."""

    async def main() -> object:
        queue: asyncio.Queue[int] = asyncio.Queue()
        queue.put_nowait(1)
        thread = threading.Thread(target=act, args=(queue,))
        thread.start()
        await asyncio.sleep(0)
        seen = look(queue)
        thread.join()
        return seen

    return set(explore(lambda: asyncio.run(main()), strategy="depth-first").outcomes)


def test_a_queue_of_asyncio_that_a_thread_uses_is_seen_before_and_after() -> None:
    """Nobody waits in the queue, so nothing but its methods tells of it."""
    assert _looks(lambda queue: queue.put_nowait(2), lambda queue: queue.qsize()) == {"1", "2"}
    assert _looks(lambda queue: queue.get_nowait(), lambda queue: queue.empty()) == {"False", "True"}


def test_a_task_that_a_thread_cancels_may_have_ended_or_not() -> None:
    """`Task.cancel` from a thread races with the task's own end."""

    async def main() -> bool:
        task = asyncio.create_task(asyncio.sleep(0))
        thread = threading.Thread(target=task.cancel)
        thread.start()
        await asyncio.wait({task}, timeout=1)
        thread.join()
        return task.cancelled()

    assert set(explore(lambda: asyncio.run(main()), strategy="depth-first").outcomes) == {"False", "True"}


@pytest.mark.parametrize("what", ["is_running", "is_closed"])
def test_a_thread_may_see_the_loop_in_each_phase_of_its_life(what: str) -> None:
    """Whether a loop runs or is closed is read at a point."""

    def scenario() -> bool:
        seen: list[bool] = []
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=lambda: seen.append(getattr(loop, what)()))
        thread.start()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        thread.join()
        return seen[0]

    assert set(explore(scenario, strategy="depth-first").outcomes) == {"False", "True"}


def test_who_begins_to_run_a_loop_that_another_thread_runs_is_refused() -> None:
    """That it runs is asked at the moment at which it would begin."""

    def scenario() -> list[str]:
        loop, refused = asyncio.new_event_loop(), list[str]()
        loop.call_later(1, loop.stop)

        def turn() -> None:
            try:
                loop.run_forever()
            except RuntimeError as error:
                refused.append(str(error))

        thread = threading.Thread(target=turn)
        thread.start()
        turn()
        thread.join()
        loop.close()
        return refused

    assert explore(scenario, strategy="depth-first").outcomes == ("['This event loop is already running']",)


def test_who_was_told_that_a_loop_runs_may_find_it_at_rest_again() -> None:
    """By a step that has nothing to do with the loop, behind which it asks."""

    def scenario() -> bool:
        loop, begun = asyncio.new_event_loop(), threading.Event()
        done = loop.create_future()
        done.set_result(None)
        loop.call_soon(begun.set)
        loop.call_soon(loop.stop)
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        begun.wait()
        try:
            loop.run_until_complete(done)
        except RuntimeError:
            return True
        finally:
            thread.join()
        return False

    assert set(explore(scenario, strategy="depth-first").outcomes) == {"False", "True"}


@pytest.mark.parametrize("what", ["is_running", "is_closed"])
def test_who_made_a_loop_may_see_each_phase_of_its_life_in_a_thread(what: str) -> None:
    """What it looks at behind `start()` is no part of that step: the thread may have begun, and ended."""

    def scenario() -> bool:
        loop = asyncio.new_event_loop()

        def work() -> None:
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()

        thread = in_thread(work)
        seen: bool = getattr(loop, what)()
        thread.join()
        return seen

    assert set(explore(scenario, strategy="depth-first").outcomes) == {"False", "True"}


@pytest.mark.parametrize("threadsafe", [False, True])
def test_who_made_a_loop_stops_it_in_a_thread_as_any_other_does(threadsafe: bool) -> None:
    """The thread may sleep in its loop already, and `call_soon` wakes nobody."""

    def scenario() -> None:
        loop = asyncio.new_event_loop()
        thread = in_thread(loop.run_forever)
        (loop.call_soon_threadsafe if threadsafe else loop.call_soon)(loop.stop)
        thread.join()
        loop.close()

    if threadsafe:
        assert holds(scenario).failure is None
    else:
        assert found(scenario, FailureKind.LOST_WAKEUP, "something to do in loop1").traces > 0


def test_pending_tasks_of_a_run_can_be_listed() -> None:
    """Faults that cancel tasks find them by age."""

    async def main() -> list[str]:
        kernel = running()
        assert kernel is not None
        async with asyncio.TaskGroup() as group:
            for name in ("one", "two"):
                group.create_task(asyncio.sleep(1), name=name)
            return [task.get_name() for task in loops.pending_tasks(kernel)]

    report = explore(lambda: asyncio.run(main()))
    assert report.outcomes == ("['Task-1', 'one', 'two']",)


def test_a_custom_handler_that_defers_to_the_default_one_only_logs(caplog: pytest.LogCaptureFixture) -> None:
    """The scenario decides, and decided to log."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: loop.default_exception_handler(context))
        loop.call_soon(int, "x")
        await asyncio.sleep(0)

    holds(run(main))
    assert "Exception in callback int(" in caplog.text


def test_nothing_of_the_loops_stays_in_the_process() -> None:
    """After an exploration asyncio is what it was."""
    before = (asyncio.all_tasks, asyncio.Queue.put_nowait, asyncio.events.BaseDefaultEventLoopPolicy.new_event_loop)
    holds(run(lambda: asyncio.sleep(1)))
    after = (asyncio.all_tasks, asyncio.Queue.put_nowait, asyncio.events.BaseDefaultEventLoopPolicy.new_event_loop)
    assert before == after
    loop = asyncio.new_event_loop()
    assert isinstance(loop, asyncio.SelectorEventLoop)
    loop.close()
