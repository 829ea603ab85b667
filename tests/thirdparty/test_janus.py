"""janus 2: a queue between threads and coroutines."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.thirdparty.exploring import expect_fault, expect_hold, together

janus = pytest.importorskip("janus")


def test_a_bounded_queue_keeps_the_order_between_threads() -> None:
    """The producer waits for room, the consumer for items, and nothing is lost."""

    def scenario() -> None:
        queue = janus.Queue(maxsize=1)
        got: list[int] = []

        def produce() -> None:
            for number in range(2):
                queue.sync_q.put(number)

        def consume() -> None:
            got.extend([queue.sync_q.get(), queue.sync_q.get()])

        together(produce, consume)
        assert got == [0, 1]

    expect_hold(scenario, "janus")


def test_two_consumers_get_one_item_each() -> None:
    """No item is given twice, and nobody is left waiting."""

    def scenario() -> None:
        queue = janus.Queue()
        got: list[int] = []
        together(
            lambda: [queue.sync_q.put(number) for number in range(2)],
            lambda: got.append(queue.sync_q.get()),
            lambda: got.append(queue.sync_q.get()),
        )
        assert sorted(got) == [0, 1]

    expect_hold(scenario, "janus")


def test_a_consumer_that_waits_is_told_of_the_shutdown() -> None:
    """Whether it waits already, or comes later."""

    def scenario() -> None:
        queue = janus.Queue()
        told: list[str] = []

        def consume() -> None:
            with pytest.raises(janus.SyncQueueShutDown):
                queue.sync_q.get()
            told.append("shut down")

        together(consume, queue.close)
        assert told == ["shut down"]

    expect_hold(scenario, "janus")


def test_join_waits_until_all_is_done() -> None:
    """It returns when the consumer has said so, and not before."""

    def scenario() -> None:
        queue = janus.Queue()
        queue.sync_q.put(1)
        events: list[str] = []

        def consume() -> None:
            queue.sync_q.get()
            events.append("done")
            queue.sync_q.task_done()

        def wait() -> None:
            queue.sync_q.join()
            events.append("joined")

        together(consume, wait)
        assert events == ["done", "joined"]

    expect_hold(scenario, "janus")


def test_asking_whether_it_is_full_is_no_promise() -> None:
    """``full()`` is "not reliable", its documentation says: between it and the put another thread may put."""

    def scenario() -> None:
        queue = janus.Queue(maxsize=1)

        def put() -> None:
            if not queue.sync_q.full():
                queue.sync_q.put_nowait(1)

        together(put, put)

    expect_fault(scenario, "janus", message="Full")


def test_a_thread_feeds_a_coroutine() -> None:
    """Items cross from a thread to the event loop in order, through a queue that holds one."""

    def scenario() -> list[int]:
        async def main() -> list[int]:
            queue = janus.Queue(maxsize=1)
            thread = threading.Thread(target=lambda: [queue.sync_q.put(number) for number in range(2)])
            thread.start()
            got = [await queue.async_q.get() for _ in range(2)]
            thread.join()
            await queue.aclose()
            return got

        got = asyncio.run(main())
        assert got == [0, 1]
        return got

    expect_hold(scenario, "janus")
