"""asyncio's queues and locks, threads and executors beside a loop, and asynchronous generators."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import AsyncIterator
from typing import Any

from tests.testbed.loops.cases import TICK_S, case, coroutine_case, error_in, error_of, told

_VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


@coroutine_case
async def a_queue_is_bounded_and_fair() -> object:
    log: list[object] = []
    queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)

    async def produce(first: int) -> None:
        for number in (first, first + 1):
            await queue.put(number)
            log.append(f"put {number}")

    async with asyncio.TaskGroup() as group:
        group.create_task(produce(0))
        group.create_task(produce(10))
        log.extend([await queue.get() for _ in range(4)])
    return log


@coroutine_case
async def a_queue_is_joined_when_all_is_done() -> object:
    log: list[str] = []
    queue: asyncio.Queue[int] = asyncio.Queue()

    async def consume() -> None:
        while True:
            item = await queue.get()
            await asyncio.sleep(0)
            log.append(f"did {item}")
            queue.task_done()

    worker = asyncio.create_task(consume())
    for item in range(3):
        queue.put_nowait(item)
    await queue.join()
    log.append("joined")
    worker.cancel()
    return log, error_of(queue.task_done)


@coroutine_case
async def queues_refuse_what_they_cannot_do_now() -> object:
    queue: asyncio.Queue[int] = asyncio.Queue(1)
    texts = [error_of(queue.get_nowait)]
    queue.put_nowait(1)
    texts.append(error_of(lambda: queue.put_nowait(2)))
    return texts, queue.full(), queue.empty(), queue.qsize()


@coroutine_case
async def queues_have_their_orders() -> object:
    queues: list[asyncio.Queue[int]] = [asyncio.Queue(), asyncio.LifoQueue(), asyncio.PriorityQueue()]
    for queue in queues:
        for item in (2, 3, 1):
            await queue.put(item)
    return [[await queue.get() for _ in range(3)] for queue in queues]


@coroutine_case
async def a_getter_that_is_cancelled_loses_no_item() -> object:
    queue: asyncio.Queue[str] = asyncio.Queue()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.put_nowait("item")
    first.cancel()
    return await error_in(first), await second


@coroutine_case
async def a_lock_is_handed_over_in_order() -> object:
    log: list[int] = []
    lock = asyncio.Lock()

    async def enter(number: int) -> None:
        async with lock:
            log.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(enter(number) for number in range(3)))
    return log, lock.locked(), error_of(lock.release)


@coroutine_case
async def an_event_wakes_all() -> object:
    event = asyncio.Event()
    waiters = [asyncio.create_task(event.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    event.set()
    answers = await asyncio.gather(*waiters)
    event.clear()
    return answers, event.is_set(), await error_in(asyncio.wait_for(event.wait(), TICK_S))


@coroutine_case
async def a_condition_wakes_as_many_as_it_is_told_to() -> object:
    log: list[int] = []
    condition = asyncio.Condition()

    async def wait(number: int) -> None:
        async with condition:
            await condition.wait()
            log.append(number)

    waiters = [asyncio.create_task(wait(number)) for number in range(3)]
    await asyncio.sleep(0)
    async with condition:
        condition.notify(1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    seen = list(log)
    async with condition:
        condition.notify_all()
    await asyncio.gather(*waiters)
    return seen, log, error_of(condition.notify)


@coroutine_case
async def a_condition_waits_for_a_predicate() -> object:
    values: list[int] = []
    condition = asyncio.Condition()

    async def wait() -> bool:
        async with condition:
            return await condition.wait_for(lambda: len(values) == 2)

    waiter = asyncio.create_task(wait())
    for number in range(2):
        await asyncio.sleep(0)
        async with condition:
            values.append(number)
            condition.notify_all()
    return await waiter


@coroutine_case
async def a_semaphore_lets_so_many_in() -> object:
    inside = most = 0
    semaphore = asyncio.BoundedSemaphore(2)

    async def enter() -> None:
        nonlocal inside, most
        async with semaphore:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(enter() for _ in range(5)))
    return most, semaphore.locked(), error_of(semaphore.release)


@coroutine_case
async def a_barrier_lets_all_through_at_once() -> object:
    barrier = asyncio.Barrier(3)
    places = await asyncio.gather(*(barrier.wait() for _ in range(3)))
    waiter = asyncio.create_task(barrier.wait())
    await asyncio.sleep(0)
    await barrier.abort()
    return sorted(places), type((await asyncio.gather(waiter, return_exceptions=True))[0]).__name__, barrier.broken


@coroutine_case
async def to_thread_gives_the_result_and_the_context() -> object:
    _VARIABLE.set("from the loop")

    def work(number: int) -> str:
        return f"{number} {_VARIABLE.get()} {threading.current_thread() is threading.main_thread()}"

    return await asyncio.to_thread(work, 5), await error_in(asyncio.to_thread(lambda: 1 // 0))


@coroutine_case
async def an_executor_of_ones_own_is_used() -> object:
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        return await asyncio.gather(*(loop.run_in_executor(executor, pow, number, 2) for number in range(4)))


@coroutine_case
async def futures_of_threads_can_be_awaited() -> object:
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        good = asyncio.wrap_future(executor.submit(lambda: 7))
        bad = asyncio.wrap_future(executor.submit(lambda: 1 // 0))
        return await good, await error_in(bad)


@coroutine_case
async def cancelling_a_wrapped_future_cancels_the_other() -> object:
    future: concurrent.futures.Future[int] = concurrent.futures.Future()
    wrapped = asyncio.wrap_future(future)
    wrapped.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return wrapped.cancelled(), future.cancelled()


@case
def a_coroutine_is_run_from_another_thread() -> object:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def work(value: Any) -> Any:
        await asyncio.sleep(0)
        if isinstance(value, Exception):
            raise value
        return value

    good = asyncio.run_coroutine_threadsafe(work(3), loop)
    bad = asyncio.run_coroutine_threadsafe(work(ValueError("v")), loop)
    late = asyncio.run_coroutine_threadsafe(asyncio.sleep(1000), loop)
    results = good.result(), error_of(bad.result), error_of(lambda: late.result(TICK_S)), late.cancel()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    return results, late.cancelled()


@case
def a_thread_has_no_loop_but_its_own() -> object:
    texts: list[str] = []

    def run() -> None:
        texts.append(error_of(asyncio.get_running_loop))
        texts.append(asyncio.run(_name()))

    async def main() -> None:
        thread = threading.Thread(target=run)
        thread.start()
        await asyncio.to_thread(thread.join)
        texts.append(await _name())

    asyncio.run(main())
    return texts


async def _name() -> str:
    task = asyncio.current_task()
    assert task is not None
    return getattr(task.get_coro(), "__name__", "")


@coroutine_case
async def debug_mode_refuses_other_threads() -> object:
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    text = await asyncio.to_thread(lambda: error_of(lambda: loop.call_soon(print)))
    loop.set_debug(False)
    return text


@coroutine_case
async def a_job_that_has_begun_cannot_be_cancelled() -> object:
    begun, end = threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        end.wait()
        return "done"

    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        job = executor.submit(work)
        waiting = asyncio.wrap_future(job)
        await asyncio.to_thread(begun.wait)
        waiting.cancel()
        await asyncio.sleep(0)
        end.set()
        return await error_in(waiting), job.result()


@coroutine_case
async def a_loop_waits_for_its_executor_at_the_end() -> object:
    log: list[str] = []
    loop = asyncio.get_running_loop()
    loop.run_in_executor(None, log.append, "done")
    await loop.shutdown_default_executor()
    return log, error_of(lambda: loop.run_in_executor(None, print))


async def _count(log: list[str]) -> AsyncIterator[int]:
    try:
        for number in range(10):
            yield number
            await asyncio.sleep(0)
    finally:
        await asyncio.sleep(0)
        log.append("closed")


@coroutine_case
async def a_generator_is_closed_by_hand() -> object:
    log: list[str] = []
    generator: Any = _count(log)
    first = await anext(generator)
    await generator.aclose()
    return first, log, await error_in(anext(generator))


@coroutine_case
async def a_generator_that_is_dropped_is_closed_by_the_loop() -> object:
    log: list[str] = []
    async for _ in _count(log):
        break
    before = list(log)
    for _ in range(4):
        await asyncio.sleep(0)
    return before, log


@case
def generators_left_over_are_closed_at_the_end() -> object:
    log: list[str] = []
    kept: list[Any] = []

    async def main() -> list[int]:
        kept.extend(_count(log) for _ in range(2))
        return [await anext(generator) for generator in kept]

    return asyncio.run(main()), log


@case
def tasks_left_over_are_cancelled_at_the_end() -> object:
    log: list[str] = []

    async def forever(name: str) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            log.append(name)

    async def main() -> str:
        kept.extend(asyncio.create_task(forever(name)) for name in ("a", "b"))
        await asyncio.sleep(0)
        return "main"

    kept: list[asyncio.Task[None]] = []
    return asyncio.run(main()), sorted(log), [task.cancelled() for task in kept]


@case
def an_error_of_main_comes_out_of_run() -> object:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError("main")

    try:
        asyncio.run(fail())
    except LookupError as error:
        return told(error), error_of(asyncio.get_running_loop)
    return "nothing"


@case
def an_exit_passes_through_the_loop() -> object:
    async def leave() -> None:
        await asyncio.sleep(0)
        raise SystemExit(3)

    return error_of(lambda: asyncio.run(leave()))


@case
def an_old_style_loop_can_be_set() -> object:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    same = asyncio.get_event_loop_policy().get_event_loop() is loop
    asyncio.set_event_loop(None)
    loop.close()
    return same
