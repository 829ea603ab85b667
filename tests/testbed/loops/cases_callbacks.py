"""Callbacks, timers, and the life of a loop."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from tests.testbed.loops.cases import TICK_S, case, coroutine_case, error_in, error_of

_VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


@coroutine_case
async def callbacks_run_first_in_first_out() -> object:
    log: list[int] = []
    loop = asyncio.get_running_loop()
    for number in range(4):
        loop.call_soon(log.append, number)
    await asyncio.sleep(0)
    return log


@coroutine_case
async def a_callback_made_ready_by_a_callback_waits_for_the_next_turn() -> object:
    log: list[str] = []
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: (log.append("a"), loop.call_soon(log.append, "c")))
    loop.call_soon(log.append, "b")
    await asyncio.sleep(0)
    log.append("main")
    await asyncio.sleep(0)
    return log


@coroutine_case
async def a_due_timer_comes_behind_what_was_ready_before() -> object:
    log: list[str] = []
    loop = asyncio.get_running_loop()
    loop.call_later(0, log.append, "timer")
    loop.call_soon(log.append, "first")
    loop.call_soon(lambda: loop.call_soon(log.append, "second"))
    await asyncio.sleep(TICK_S)
    return log


@coroutine_case
async def timers_fire_by_time_whatever_order_they_were_set_in() -> object:
    log: list[int] = []
    loop = asyncio.get_running_loop()
    for ticks in (3, 1, 2):
        loop.call_later(ticks * TICK_S, log.append, ticks)
    await asyncio.sleep(5 * TICK_S)
    return log


@coroutine_case
async def a_cancelled_callback_does_not_run() -> object:
    log: list[str] = []
    loop = asyncio.get_running_loop()
    soon, later = loop.call_soon(log.append, "soon"), loop.call_later(TICK_S, log.append, "later")
    soon.cancel()
    later.cancel()
    await asyncio.sleep(3 * TICK_S)
    return log, soon.cancelled(), later.cancelled()


@coroutine_case
async def a_callback_may_cancel_the_next_one() -> object:
    log: list[str] = []
    loop = asyncio.get_running_loop()
    handles: list[asyncio.Handle] = []
    loop.call_soon(lambda: handles[0].cancel())
    handles.append(loop.call_soon(log.append, "never"))
    await asyncio.sleep(0)
    return log


@coroutine_case
async def call_at_and_time_agree() -> object:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    woken = loop.create_future()
    timer = loop.call_at(begun + TICK_S, woken.set_result, "woken")
    result = await woken
    return result, timer.when() == begun + TICK_S, loop.time() >= begun + TICK_S


@coroutine_case
async def callbacks_see_the_context_in_which_they_were_set() -> object:
    log: list[str] = []
    loop = asyncio.get_running_loop()
    _VARIABLE.set("at call")
    loop.call_soon(lambda: log.append(_VARIABLE.get()))
    other = contextvars.copy_context()
    other.run(_VARIABLE.set, "other")
    loop.call_soon(lambda: log.append(_VARIABLE.get()), context=other)
    _VARIABLE.set("later")
    await asyncio.sleep(0)
    return log


@coroutine_case
async def call_soon_threadsafe_keeps_its_place() -> object:
    log: list[int] = []
    loop = asyncio.get_running_loop()
    loop.call_soon(log.append, 1)
    loop.call_soon_threadsafe(log.append, 2)
    loop.call_soon(log.append, 3)
    await asyncio.sleep(0)
    return log


@case
def stop_lets_the_turn_end() -> object:
    log: list[str] = []
    loop = asyncio.new_event_loop()
    loop.call_soon(loop.stop)
    loop.call_soon(log.append, "same turn")
    loop.call_soon(lambda: loop.call_soon(log.append, "next turn"))
    loop.run_forever()
    seen = list(log)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    return seen, log


@case
def stop_before_the_run_gives_one_turn() -> object:
    log: list[str] = []
    loop = asyncio.new_event_loop()
    loop.call_soon(log.append, "one")
    loop.stop()
    loop.run_forever()
    loop.close()
    return log


@case
def a_loop_can_run_again() -> object:
    loop = asyncio.new_event_loop()
    results = [loop.run_until_complete(asyncio.sleep(0, number)) for number in range(3)]
    loop.close()
    return results


@case
def a_loop_that_stops_early_says_so() -> object:
    loop = asyncio.new_event_loop()
    future = loop.create_future()
    loop.call_soon(loop.stop)
    text = error_of(lambda: loop.run_until_complete(future))
    loop.close()
    return text


@case
def a_closed_loop_refuses_everything() -> object:
    loop = asyncio.new_event_loop()
    loop.close()
    coroutine = asyncio.sleep(0)
    texts = [
        error_of(lambda: loop.call_soon(print)),
        error_of(lambda: loop.call_soon_threadsafe(print)),
        error_of(lambda: loop.call_later(1, print)),
        error_of(lambda: loop.create_task(coroutine)),
        error_of(lambda: loop.run_until_complete(loop.create_future())),
        error_of(loop.run_forever),
        error_of(lambda: loop.run_in_executor(None, print)),
    ]
    coroutine.close()
    loop.close()
    return texts, loop.is_closed()


@coroutine_case
async def a_running_loop_can_be_neither_run_nor_closed() -> object:
    loop = asyncio.get_running_loop()
    other = asyncio.new_event_loop()
    coroutine = asyncio.sleep(0)
    texts = [
        error_of(lambda: loop.run_until_complete(loop.create_future())),
        error_of(loop.close),
        error_of(lambda: other.run_until_complete(other.create_future())),
        error_of(lambda: asyncio.run(coroutine)),
    ]
    other.close()
    coroutine.close()
    return texts, loop.is_running(), other.is_running()


@case
def there_is_no_running_loop_outside() -> object:
    return error_of(asyncio.get_running_loop), asyncio.run(_running()), error_of(asyncio.get_running_loop)


async def _running() -> bool:
    return asyncio.get_running_loop().is_running()


@case
def run_wants_a_coroutine() -> object:
    return error_of(lambda: asyncio.run(5))  # type: ignore[arg-type]


@case
def a_runner_keeps_its_loop_and_context() -> object:
    async def change(value: str) -> str:
        before = _VARIABLE.get()
        _VARIABLE.set(value)
        return before

    with asyncio.Runner() as runner:
        own = contextvars.copy_context()
        seen = [runner.run(change("one")), runner.run(change("two"), context=own), runner.run(change("three"))]
        same = runner.get_loop() is runner.get_loop()
    return seen, same, own[_VARIABLE], _VARIABLE.get(), error_of(runner.get_loop)


@coroutine_case
async def an_exception_in_a_callback_goes_to_the_handler() -> object:
    log: list[str] = []
    loop = asyncio.get_running_loop()

    def handler(_loop: Any, context: dict[str, Any]) -> None:
        log.append(f"{context['message'][:21]} {context['exception']!r}")

    loop.set_exception_handler(handler)
    loop.call_soon(lambda: 1 // 0)
    loop.call_soon(log.append, "goes on")
    await asyncio.sleep(0)
    return log, loop.get_exception_handler() is handler


@coroutine_case
async def debug_mode_tells_wrong_callbacks() -> object:
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    text = error_of(lambda: loop.call_soon(callbacks_of_coroutines))
    loop.set_debug(False)
    return text, await error_in(asyncio.sleep(0))


async def callbacks_of_coroutines() -> None:
    pass
