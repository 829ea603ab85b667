"""What asyncio would only log fails a run, and names task and coroutine."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from omni_ipc.records import FailureKind, Verdict
from omni_ipc.testbed import explore
from tests.testbed.loops.test_finds import found, holds, in_thread, run


async def fails() -> None:
    raise ValueError("nobody listens")


def test_an_exception_that_nobody_takes_is_found() -> None:
    """A task that fails unheard fails the run, with its coroutine and the line that raised."""

    async def main() -> None:
        task = asyncio.create_task(fails(), name="worker")
        await asyncio.sleep(1)
        del task

    report = found(run(main), FailureKind.EXCEPTION, "ValueError: nobody listens, which nobody took from worker fails")
    assert report.failure is not None
    assert str(report.failure.where).startswith("test_oracles.py")


def test_an_exception_that_nobody_takes_is_found_at_the_end_of_the_run() -> None:
    """Something may refer to the failed task as long as the run lasts."""
    kept: list[Any] = []

    async def main() -> None:
        kept[:] = [asyncio.create_task(fails())]
        await asyncio.sleep(1)

    assert found(run(main), FailureKind.EXCEPTION, "which nobody took from Task-2 fails")


def test_an_exception_that_is_taken_late_is_none() -> None:
    """Who awaits the failed task in the end has taken its exception."""

    async def main() -> None:
        task = asyncio.create_task(fails())
        await asyncio.sleep(1)
        with pytest.raises(ValueError, match="nobody"):
            await task

    assert holds(run(main))


def test_a_future_whose_exception_nobody_takes_is_found() -> None:
    """Futures are held to the same as tasks."""

    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(ValueError("unheard"))

    assert found(run(main), FailureKind.EXCEPTION, "ValueError: unheard, which nobody took from a future")


def test_a_task_that_is_lost_while_it_waits_is_found() -> None:
    """A task that only its own future refers to may be collected at any time."""

    async def main() -> None:
        future = asyncio.get_running_loop().create_future()

        async def wait() -> None:
            await future

        asyncio.create_task(wait())  # noqa: RUF006 - that is the fault
        await asyncio.sleep(1)

    def scenario() -> None:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()

    assert found(scenario, FailureKind.LEAK, "Task-2 wait at test_oracles.py")


def test_a_task_left_over_by_a_loop_is_found() -> None:
    """A loop that is closed with tasks pending has forgotten them."""

    def scenario() -> None:
        loop = asyncio.new_event_loop()
        tasks = [loop.create_task(asyncio.sleep(9), name=name) for name in ("one", "two")]
        loop.run_until_complete(asyncio.sleep(1))
        loop.close()
        assert not tasks[0].done()

    assert found(scenario, FailureKind.LEAK, "one sleep was still waiting when all was over")


def test_a_callback_that_raises_is_found() -> None:
    """The loop would log it and go on."""

    def divide() -> None:
        _ = 1 // 0

    async def main() -> None:
        asyncio.get_running_loop().call_later(1, divide)
        await asyncio.sleep(2)

    report = found(run(main), FailureKind.EXCEPTION, "by zero, in the callback divide")
    assert "in divide" in str(report.failure and report.failure.where)


def test_a_scenario_with_a_handler_of_its_own_is_let_be() -> None:
    """Who installs an exception handler has an oracle of his own."""

    async def main() -> list[str]:
        heard: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: heard.append(repr(context["exception"])))
        loop.call_soon(int, "x")
        task = asyncio.create_task(fails())
        await asyncio.sleep(1)
        assert task.done()
        return heard[:1]

    report = explore(lambda: asyncio.run(main()))
    assert report.verdict is Verdict.HOLDS, report.reason
    assert "invalid literal for int()" in report.outcomes[0]


def _listen() -> None:
    async def main() -> None:
        await asyncio.open_connection("localhost", 80)

    asyncio.run(main())


def _read() -> None:
    loop = asyncio.new_event_loop()
    loop.add_reader(0, print)


def _command() -> None:
    async def main() -> None:
        await asyncio.create_subprocess_exec("true")

    asyncio.run(main())


def _policy() -> None:
    asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())


@pytest.mark.parametrize(
    ("scenario", "what"),
    [
        (_listen, "create_connection() of an event loop"),
        (_read, "add_reader() of an event loop"),
        (_command, "subprocess_exec() of an event loop"),
        (_policy, "asyncio.set_event_loop_policy()"),
    ],
)
def test_what_waits_for_the_world_outside_is_named(scenario: Callable[[], None], what: str) -> None:
    """No selector is there to wait: the run is inconclusive, with the line, and does not hang."""
    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert what in report.reason
    assert "test_oracles.py:" in report.reason


def test_who_waits_beside_a_heartbeat_is_found() -> None:
    """That a coroutine wakes up now and then does not hide that nobody wakes another one, in a thread."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(1)

    def scenario() -> None:
        event = threading.Event()
        thread = threading.Thread(target=asyncio.run, args=(beat(),), daemon=True)
        thread.start()
        event.wait()

    assert found(scenario, FailureKind.LOST_WAKEUP, "'main' waits for event1")


def test_many_timers_are_no_standstill() -> None:
    """As long as tasks tell each other something, the run goes on."""

    async def main() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue()

        async def produce() -> None:
            for number in range(400):
                await asyncio.sleep(0.1)
                await queue.put(number)

        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            for _ in range(400):
                await queue.get()

    def scenario() -> None:
        thread = in_thread(run(main))
        thread.join()

    assert explore(scenario, strategy="random", runs=2, max_steps=5_000).failure is None


def test_a_coroutine_that_polls_gets_what_it_polls_for() -> None:
    """A loop that never sleeps does not keep the others from going on, however long they take; that is a bound."""

    async def main() -> None:
        done: list[int] = []

        def work() -> None:
            time.sleep(5)
            done.append(1)

        thread = in_thread(work)
        while not done:
            await asyncio.sleep(0)
        thread.join()

    report = explore(run(main))
    assert report.verdict is Verdict.BOUNDED
    assert report.reason.endswith("loops that were busy for 100 turns on end let all others go on first")
