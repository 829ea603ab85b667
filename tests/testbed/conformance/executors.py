"""ThreadPoolExecutor."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor, as_completed, wait
from typing import Any


def _square(number: int) -> int:
    return number * number


def _fail(*_: object) -> None:
    raise KeyError("lost")


def executor_gives_results() -> object:
    with ThreadPoolExecutor(2) as executor:
        futures = [executor.submit(_square, number) for number in range(3)]
        return [future.result() for future in futures], isinstance(executor, Executor)


def executor_gives_exceptions() -> object:
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(_fail)
        return repr(future.exception()), future.result()


def executor_passes_arguments() -> object:
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(lambda *args, **options: (args, options), 1, 2, fn=3, self=4).result()


def executor_needs_something_to_do() -> object:
    with ThreadPoolExecutor(1) as executor:
        return executor.submit()  # type: ignore[call-arg]


def executor_needs_workers() -> object:
    return ThreadPoolExecutor(0)


def executor_needs_an_initializer_that_can_be_called() -> object:
    return ThreadPoolExecutor(1, initializer=3)  # type: ignore[call-overload]


def executor_does_nothing_after_its_end() -> object:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    return executor.submit(_square, 2)


def executor_is_shut_down_twice() -> object:
    executor = ThreadPoolExecutor(1)
    return executor.shutdown(), executor.shutdown(wait=False), executor.shutdown(True, cancel_futures=True)


def executor_does_what_it_was_given_before_its_end() -> object:
    executor = ThreadPoolExecutor(1)
    futures = [executor.submit(_square, number) for number in range(3)]
    executor.shutdown(wait=True)
    return [future.done() for future in futures], [future.result() for future in futures]


def executor_waits_at_the_end_of_a_with() -> object:
    done: list[int] = []

    def work() -> None:
        time.sleep(0.01)
        done.append(1)

    with ThreadPoolExecutor(2) as executor:
        executor.submit(work)
        executor.submit(work)
    return done


def executor_cancels_what_it_has_not_begun() -> object:
    begun, go = threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        go.wait()
        return "done"

    executor = ThreadPoolExecutor(1)
    first = executor.submit(work)
    others = [executor.submit(_square, number) for number in range(2)]
    begun.wait()
    executor.shutdown(wait=False, cancel_futures=True)
    go.set()
    executor.shutdown()
    return first.result(), [other.cancelled() for other in others]


def executor_passes_over_the_cancelled() -> object:
    begun, go = threading.Event(), threading.Event()
    done: list[int] = []

    def work() -> None:
        begun.set()
        go.wait()

    with ThreadPoolExecutor(1) as executor:
        executor.submit(work)
        begun.wait()
        futures = [executor.submit(done.append, number) for number in range(3)]
        cancelled = futures[1].cancel()
        go.set()
    return done, cancelled, [future.cancelled() for future in futures]


def executor_names_its_threads() -> object:
    with ThreadPoolExecutor(1, thread_name_prefix="worker") as executor:
        return executor.submit(lambda: threading.current_thread().name).result()


def executor_names_its_threads_by_itself() -> object:
    with ThreadPoolExecutor(1) as executor:
        name = executor.submit(lambda: threading.current_thread().name).result()
    return name.startswith("ThreadPoolExecutor-"), name.endswith("_0")


def executor_has_no_more_workers_than_allowed() -> object:
    lock = threading.Lock()
    most = now = 0

    def work() -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.05)
        with lock:
            now -= 1

    with ThreadPoolExecutor(2) as executor:
        for _ in range(4):
            executor.submit(work)
    return most


def executor_uses_a_worker_again() -> object:
    with ThreadPoolExecutor(4) as executor:
        names = set()
        for _ in range(3):
            names.add(executor.submit(lambda: threading.current_thread().name).result())
            time.sleep(0.05)
    return len(names)


def executor_initializes_each_worker() -> object:
    local = threading.local()

    def prepare(value: str) -> None:
        local.value = value

    with ThreadPoolExecutor(2, initializer=prepare, initargs=("ready",)) as executor:
        return [executor.submit(lambda: local.value).result() for _ in range(3)]


def executor_maps_in_order() -> object:
    with ThreadPoolExecutor(2) as executor:
        return (
            list(executor.map(_square, range(4))),
            list(executor.map(pow, [2, 3], [3, 2])),
            list(executor.map(_square, [])),
        )


def executor_map_raises_where_it_failed() -> object:
    with ThreadPoolExecutor(1) as executor:
        results = executor.map(lambda number: 1 // number, [1, 0, 1])
        return next(results), next(results)


def executor_map_times_out() -> object:
    go = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        results = executor.map(lambda _: go.wait(), [1], timeout=0.01)
        try:
            return next(results)
        except TimeoutError as error:
            return type(error).__name__
        finally:
            go.set()


def executor_serves_its_own_work() -> object:
    with ThreadPoolExecutor(2) as executor:
        return executor.submit(lambda: executor.submit(_square, 3).result()).result()


def executor_calls_back_in_a_worker() -> object:
    seen: list[str] = []
    go = threading.Event()
    with ThreadPoolExecutor(1, thread_name_prefix="worker") as executor:
        future = executor.submit(go.wait)
        future.add_done_callback(lambda _: seen.append(threading.current_thread().name))
        go.set()
    return seen


def executor_futures_complete() -> object:
    with ThreadPoolExecutor(2) as executor:
        futures = [executor.submit(_square, number) for number in range(3)]
        done, left = wait(futures)
        return len(done), len(left), sorted(future.result() for future in as_completed(futures))


def executor_future_runs() -> object:
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait()

    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(work)
        begun.wait()
        during = future.running(), future.cancel(), future.done()
        go.set()
    return during, future.running(), future.done()


def executor_takes_exits_for_errors() -> object:
    def leave() -> None:
        raise SystemExit(3)

    with ThreadPoolExecutor(1) as executor:
        return repr(executor.submit(leave).exception()), executor.submit(_square, 2).result()


class _Counting(ThreadPoolExecutor):
    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.submitted = 0

    def submit(self, fn: Any, /, *args: Any, **options: Any) -> Future[Any]:
        self.submitted += 1
        return super().submit(fn, *args, **options)


def executor_of_a_class_of_ones_own() -> object:
    with _Counting(2) as executor:
        return list(executor.map(_square, range(3))), executor.submitted, type(executor) is _Counting


def executor_cancelled_result() -> object:
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait()

    with ThreadPoolExecutor(1) as executor:
        executor.submit(work)
        begun.wait()
        future = executor.submit(_square, 2)
        future.cancel()
        go.set()
        try:
            return future.result()
        except CancelledError as error:
            return type(error).__name__
