"""Future, wait and as_completed."""

from __future__ import annotations

import threading
from concurrent.futures import (
    ALL_COMPLETED,
    FIRST_COMPLETED,
    FIRST_EXCEPTION,
    CancelledError,
    Future,
    TimeoutError,
    as_completed,
    wait,
)
from typing import Any


def _done(value: Any = 1) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def _failed() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(KeyError("lost"))
    return future


def _cancelled(*, notified: bool = True) -> Future[Any]:
    future: Future[Any] = Future()
    future.cancel()
    if notified:
        future.set_running_or_notify_cancel()
    return future


def _states(future: Future[Any]) -> tuple[bool, bool, bool]:
    return future.running(), future.cancelled(), future.done()


def future_has_states() -> object:
    running: Future[int] = Future()
    begun = running.set_running_or_notify_cancel()
    others = (Future(), _done(), _failed(), _cancelled(), _cancelled(notified=False))
    return begun, _states(running), [_states(other) for other in others]


def future_has_a_result() -> object:
    return _done(3).result(), _done(3).result(timeout=0), _done(3).exception(), _done().result(-1)


def future_has_an_exception() -> object:
    return repr(_failed().exception()), _failed().result()


def future_result_times_out() -> object:
    try:
        return Future[int]().result(0.01)
    except TimeoutError as error:
        return type(error).__name__, str(error), error.args


def future_exception_times_out() -> object:
    try:
        return Future[int]().exception(timeout=0)
    except TimeoutError as error:
        return type(error).__name__


def future_cancelled_has_no_result() -> object:
    return _cancelled().result()


def future_cancelled_has_no_exception() -> object:
    return _cancelled(notified=False).exception()


def future_is_cancelled_once() -> object:
    future: Future[int] = Future()
    return future.cancel(), future.cancel(), future.set_running_or_notify_cancel(), future.cancel()


def future_that_runs_is_not_cancelled() -> object:
    future: Future[int] = Future()
    future.set_running_or_notify_cancel()
    return future.cancel(), future.cancelled(), future.set_result(2), future.result()


def future_that_is_done_is_not_cancelled() -> object:
    return _done().cancel(), _failed().cancel()


def future_is_settled_once() -> object:
    return _done().set_result(2)


def future_fails_once() -> object:
    return _failed().set_exception(ValueError())


def future_cancelled_is_not_settled() -> object:
    return _cancelled().set_result(2)


def future_begins_once() -> object:
    future: Future[int] = Future()
    future.set_running_or_notify_cancel()
    return future.set_running_or_notify_cancel()


def future_done_does_not_begin() -> object:
    return _done().set_running_or_notify_cancel()


def future_calls_back_in_order() -> object:
    future: Future[int] = Future()
    seen: list[object] = []
    future.add_done_callback(lambda given: seen.append(("a", given is future, given.result())))
    future.add_done_callback(lambda given: seen.append("b"))
    future.set_result(4)
    future.add_done_callback(lambda given: seen.append("late"))
    return seen


def future_calls_back_when_it_is_cancelled() -> object:
    future: Future[int] = Future()
    seen: list[bool] = []
    future.add_done_callback(lambda given: seen.append(given.cancelled()))
    future.cancel()
    future.cancel()
    future.set_running_or_notify_cancel()
    return seen


def future_calls_back_in_the_thread_that_settles_it() -> object:
    future: Future[int] = Future()
    seen: list[str] = []
    future.add_done_callback(lambda _: seen.append(threading.current_thread().name))
    thread = threading.Thread(target=future.set_result, args=(1,), name="setter")
    thread.start()
    thread.join()
    return seen


def future_wakes_who_waits() -> object:
    future: Future[int] = Future()
    threading.Timer(0.01, future.set_result, (5,)).start()
    return future.result(timeout=5), future.result()


def future_wakes_who_waits_when_it_is_cancelled() -> object:
    future: Future[int] = Future()
    threading.Timer(0.01, future.cancel).start()
    return future.result(timeout=5)


def future_raises_the_same_exception() -> object:
    future: Future[int] = Future()
    error = ValueError("mine")
    future.set_exception(error)
    try:
        future.result()
    except ValueError as raised:
        return raised is error, future.exception() is error


def future_of_a_class_of_ones_own() -> object:
    class Named(Future[int]):
        name = "named"

    future = Named()
    future.set_result(3)
    done, _ = wait([future, _done()])
    return future.result(), future.name, len(done), [each.result() for each in as_completed([future])]


def future_takes_no_arguments() -> object:
    return Future(1)  # type: ignore[call-arg]


def _numbers(result: Any) -> tuple[int, int]:
    return len(result.done), len(result.not_done)


def wait_for_all() -> object:
    futures = [Future[int]() for _ in range(3)]
    for number, future in enumerate(futures):
        threading.Timer(0.01 * number, future.set_result, (number,)).start()
    return _numbers(wait(futures)), [future.result() for future in futures]


def wait_for_the_first() -> object:
    futures = [Future[int]() for _ in range(2)]
    threading.Timer(0.01, futures[1].set_result, (1,)).start()
    result = wait(futures, return_when=FIRST_COMPLETED)
    return _numbers(result), futures[1] in result.done


def wait_for_one_that_is_done() -> object:
    return _numbers(wait([_done(), Future()], return_when=FIRST_COMPLETED))


def wait_for_an_exception() -> object:
    slow: Future[int] = Future()
    failing: Future[int] = Future()
    threading.Timer(0.01, failing.set_exception, (KeyError(),)).start()
    return _numbers(wait([_done(), slow, failing], return_when=FIRST_EXCEPTION))


def wait_for_an_exception_that_does_not_come() -> object:
    slow: Future[int] = Future()
    threading.Timer(0.01, slow.set_result, (1,)).start()
    return _numbers(wait([_done(), slow, _cancelled()], return_when=FIRST_EXCEPTION))


def wait_times_out() -> object:
    return _numbers(wait([_done(), Future()], timeout=0.01)), _numbers(wait([Future()], 0)), _numbers(wait([]))


def wait_counts_each_once() -> object:
    future = _done()
    return _numbers(wait([future, future])), type(wait([future])).__name__


def wait_does_not_count_who_was_just_cancelled() -> object:
    return _numbers(wait([_cancelled(notified=False)], 0.01)), _numbers(wait([_cancelled()]))


def wait_refuses_another_condition() -> object:
    return wait([Future()], return_when="SOMETIME")


def wait_for_what_is_done_takes_any_condition() -> object:
    return _numbers(wait([_done()], return_when="SOMETIME")), _numbers(wait([_done()], return_when=ALL_COMPLETED))


def as_completed_gives_them_in_order() -> object:
    futures = [Future[int]() for _ in range(3)]
    for number, future in enumerate(futures):
        threading.Timer(0.06 * (3 - number), future.set_result, (number,)).start()
    return [future.result() for future in as_completed(futures)]


def as_completed_gives_each_once() -> object:
    future = _done()
    return len(list(as_completed([future, future, _failed()]))), list(as_completed([]))


def as_completed_times_out() -> object:
    given: list[object] = []
    try:
        given.extend(future.result() for future in as_completed([_done(7), Future(), Future()], timeout=0.01))
    except TimeoutError as error:
        return given, str(error)


def as_completed_begins_when_it_is_asked() -> object:
    future: Future[int] = Future()
    completed = as_completed([future])
    future.set_result(3)
    return next(completed).result()


def as_completed_gives_the_cancelled() -> object:
    try:
        return [future.result() for future in as_completed([_cancelled()], timeout=1)]
    except CancelledError as error:
        return type(error).__name__
