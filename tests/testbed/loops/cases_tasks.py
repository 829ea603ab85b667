"""Tasks: results, cancellation, groups, timeouts, and waiting for several."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from tests.testbed.loops.cases import TICK_S, coroutine_case, error_in, told

_VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


async def _after(ticks: float, value: Any) -> Any:
    await asyncio.sleep(ticks * TICK_S)
    if isinstance(value, BaseException):
        raise value
    return value


@coroutine_case
async def tasks_begin_in_the_order_of_their_creation() -> object:
    log: list[int] = []

    async def note(number: int) -> None:
        log.append(number)
        await asyncio.sleep(0)
        log.append(number + 10)

    await asyncio.gather(*(note(number) for number in range(3)))
    return log


@coroutine_case
async def a_task_has_a_result_or_an_error() -> object:
    good, bad = asyncio.create_task(_after(0, 5)), asyncio.create_task(_after(0, ValueError("no")))
    return await good, await error_in(bad), good.done(), repr(bad.exception()), good.cancelled()


@coroutine_case
async def a_result_that_is_not_there_yet_is_refused() -> object:
    task = asyncio.create_task(_after(1, 5))
    try:
        task.result()
    except asyncio.InvalidStateError as error:
        return told(error), await task
    return "nothing"


@coroutine_case
async def a_task_is_cancelled_where_it_waits() -> object:
    log: list[str] = []

    async def worker() -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError as error:
            log.append(told(error))
            raise

    task = asyncio.create_task(worker())
    await asyncio.sleep(0)
    answers = task.cancel("enough"), task.cancelling()
    return answers, await error_in(task), log, task.cancelled(), task.cancel()


@coroutine_case
async def a_task_cancelled_before_it_began_never_begins() -> object:
    log: list[str] = []

    async def worker() -> None:
        log.append("began")

    task = asyncio.create_task(worker())
    task.cancel()
    return await error_in(task), log


@coroutine_case
async def a_task_may_refuse_to_be_cancelled() -> object:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "went on"

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    task.cancel()
    return await task, task.cancelled(), task.uncancel()


@coroutine_case
async def cancelling_reaches_the_innermost_future() -> object:
    inner = asyncio.get_running_loop().create_future()

    async def middle() -> None:
        await inner

    task = asyncio.create_task(middle())
    await asyncio.sleep(0)
    task.cancel()
    return await error_in(task), inner.cancelled()


@coroutine_case
async def a_cleanup_runs_to_its_end() -> object:
    log: list[str] = []

    async def worker() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0)
            log.append("cleaned")

    task = asyncio.create_task(worker())
    await asyncio.sleep(0)
    task.cancel()
    return await error_in(task), log


@coroutine_case
async def a_group_waits_for_all() -> object:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_after(ticks, ticks)) for ticks in (2, 1)]
    return [task.result() for task in tasks]


@coroutine_case
async def a_group_cancels_the_others_when_one_fails() -> object:
    log: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(waits())
            group.create_task(_after(1, ValueError("one")))
            await asyncio.sleep(1000)
    except ExceptionGroup as errors:
        return log, [told(error) for error in errors.exceptions], str(errors)
    return "nothing"


@coroutine_case
async def a_group_collects_all_errors() -> object:
    async def fails(number: int) -> None:
        try:
            await asyncio.sleep(1000 if number else 0)
        finally:
            raise ValueError(number)

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(fails(number))
    except ExceptionGroup as errors:
        return sorted(told(error) for error in errors.exceptions)
    return "nothing"


@coroutine_case
async def a_group_cancelled_from_outside_is_no_error_of_its_own() -> object:
    async def body() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(1000))

    task = asyncio.create_task(body())
    await asyncio.sleep(0)
    task.cancel()
    return await error_in(task), task.cancelled()


@coroutine_case
async def a_timeout_becomes_a_timeout_error() -> object:
    log: list[object] = []
    try:
        async with asyncio.timeout(TICK_S) as scope:
            await asyncio.sleep(1000)
    except TimeoutError as error:
        log.append(told(error))
    task = asyncio.current_task()
    assert task is not None
    return log, scope.expired(), task.cancelling()


@coroutine_case
async def a_timeout_may_be_moved() -> object:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(TICK_S) as scope:
        scope.reschedule(loop.time() + 1000)
        await asyncio.sleep(2 * TICK_S)
    return scope.expired()


@coroutine_case
async def nested_timeouts_blame_the_one_that_expired() -> object:
    log: list[str] = []
    try:
        async with asyncio.timeout(TICK_S):
            try:
                async with asyncio.timeout(1000):
                    await asyncio.sleep(2000)
            except TimeoutError:
                log.append("inner")
    except TimeoutError:
        log.append("outer")
    return log


@coroutine_case
async def wait_for_gives_the_result_in_time() -> object:
    return await asyncio.wait_for(_after(1, "value"), 1000), await asyncio.wait_for(_after(1, "none"), None)


@coroutine_case
async def wait_for_cancels_what_is_late() -> object:
    task = asyncio.create_task(_after(1000, "late"))
    return await error_in(asyncio.wait_for(task, TICK_S)), task.cancelled()


@coroutine_case
async def wait_for_nothing_left_of_the_time() -> object:
    done = asyncio.create_task(_after(0, "done"))
    await asyncio.sleep(TICK_S)
    return await asyncio.wait_for(done, 0), await error_in(asyncio.wait_for(_after(1000, 0), 0))


@coroutine_case
async def wait_for_passes_errors_and_cancellation_on() -> object:
    task = asyncio.create_task(asyncio.wait_for(asyncio.sleep(1000), 1000))
    await asyncio.sleep(0)
    task.cancel()
    return await error_in(asyncio.wait_for(_after(0, KeyError("k")), 1000)), await error_in(task)


@coroutine_case
async def wait_for_gives_the_value_of_what_would_not_be_cancelled() -> object:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            return "anyway"
        return "never"

    try:
        return await asyncio.wait_for(stubborn(), TICK_S)
    except TimeoutError:
        return "timeout"


@coroutine_case
async def a_shield_keeps_the_task_alive() -> object:
    task = asyncio.create_task(_after(2, "inner"))

    async def waits() -> None:
        await asyncio.shield(task)

    outer = asyncio.create_task(waits())
    await asyncio.sleep(0)
    outer.cancel()
    return await error_in(outer), task.cancelled(), await task


@coroutine_case
async def gather_keeps_the_order_of_its_arguments() -> object:
    return await asyncio.gather(_after(3, "a"), _after(1, "b"), _after(2, "c"))


@coroutine_case
async def gather_raises_the_first_error_and_lets_the_others_go_on() -> object:
    event = asyncio.Event()
    other = asyncio.create_task(event.wait())
    text = await error_in(asyncio.gather(_after(1, ValueError("first")), other))
    event.set()
    return text, other.done(), await other


@coroutine_case
async def gather_may_return_errors() -> object:
    results = await asyncio.gather(_after(1, ValueError("v")), _after(0, 1), return_exceptions=True)
    return [repr(result) for result in results]


@coroutine_case
async def gather_cancelled_cancels_its_children() -> object:
    children = [asyncio.create_task(_after(1000, 0)) for _ in range(2)]
    both = asyncio.gather(*children)
    await asyncio.sleep(0)
    both.cancel()
    return await error_in(both), [child.cancelled() for child in children]


@coroutine_case
async def wait_returns_at_the_first_of_several() -> object:
    event = asyncio.Event()
    fast, slow = asyncio.create_task(_after(1, "fast")), asyncio.create_task(event.wait())
    done, pending = await asyncio.wait({fast, slow}, return_when=asyncio.FIRST_COMPLETED)
    event.set()
    return {task.result() for task in done}, pending == {slow}, await slow


@coroutine_case
async def wait_returns_at_the_first_error() -> object:
    event = asyncio.Event()
    bad, slow = asyncio.create_task(_after(1, OSError("bad"))), asyncio.create_task(event.wait())
    done, pending = await asyncio.wait([bad, slow], return_when=asyncio.FIRST_EXCEPTION)
    event.set()
    return [repr(task.exception()) for task in done], len(pending), await slow


@coroutine_case
async def wait_gives_up_in_time_and_cancels_nobody() -> object:
    event = asyncio.Event()
    slow = asyncio.create_task(event.wait())
    done, pending = await asyncio.wait([slow], timeout=TICK_S)
    event.set()
    return len(done), len(pending), await slow


@coroutine_case
async def as_completed_gives_results_as_they_come() -> object:
    return [await each for each in asyncio.as_completed([_after(3, "c"), _after(1, "a"), _after(2, "b")])]


@coroutine_case
async def as_completed_gives_up_in_time() -> object:
    slow = asyncio.create_task(_after(1000, 0))
    texts = [await error_in(each) for each in asyncio.as_completed([slow], timeout=TICK_S)]
    slow.cancel()
    return texts


@coroutine_case
async def tasks_have_contexts_of_their_own() -> object:
    async def change() -> str:
        before = _VARIABLE.get()
        _VARIABLE.set("inner")
        await asyncio.sleep(0)
        return f"{before} {_VARIABLE.get()}"

    _VARIABLE.set("outer")
    first = asyncio.create_task(change())
    given = contextvars.copy_context()
    second = asyncio.create_task(change(), context=given)
    return await first, await second, _VARIABLE.get(), given[_VARIABLE]


@coroutine_case
async def tasks_know_themselves() -> object:
    task = asyncio.create_task(asyncio.sleep(0), name="named")
    current = asyncio.current_task()
    everybody = asyncio.all_tasks() == {task, current}
    await task
    return task.get_name(), everybody, asyncio.all_tasks() == {current}


@coroutine_case
async def done_callbacks_come_later_and_in_order() -> object:
    log: list[object] = []
    task = asyncio.create_task(_after(0, "value"))
    task.add_done_callback(lambda done: log.append(done.result()))
    task.add_done_callback(lambda _: log.append("second"))
    task.add_done_callback(removed := log.append)
    count = task.remove_done_callback(removed)
    await task
    seen = list(log)
    await asyncio.sleep(0)
    return seen, log, count


@coroutine_case
async def a_future_is_settled_once() -> object:
    future = asyncio.get_running_loop().create_future()
    future.set_result(1)
    texts = [await error_in(_settle(future, 2)), await error_in(_settle(future, ValueError()))]
    return texts, await future, future.cancel(), future.cancelled()


async def _settle(future: asyncio.Future[Any], value: Any) -> None:
    if isinstance(value, BaseException):
        future.set_exception(value)
    else:
        future.set_result(value)


@coroutine_case
async def a_task_factory_makes_the_tasks() -> object:
    loop = asyncio.get_running_loop()
    made: list[str] = []

    def factory(loop: Any, coro: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(coro.__name__)
        return asyncio.Task(coro, loop=loop, **options)

    loop.set_task_factory(factory)
    result = await asyncio.create_task(_after(0, "made"))
    loop.set_task_factory(None)
    return made, result, loop.get_task_factory()


class _Held:
    """What a coroutine holds on to."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def __del__(self) -> None:
        self._log.append("let go")


@coroutine_case
async def what_a_cancelled_task_holds_goes_with_the_task() -> object:
    log: list[str] = []

    async def hold() -> None:
        held = _Held(log)
        await asyncio.sleep(1000)
        del held

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,))
    log.append(f"cancelled {task.cancelled()}")
    del task
    await asyncio.sleep(0)
    return log
