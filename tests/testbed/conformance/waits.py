"""Condition, Event and Barrier."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def _started(*bodies: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    return threads


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join()


def condition_wait_needs_the_lock() -> object:
    return threading.Condition().wait()


def condition_notify_needs_the_lock() -> object:
    return threading.Condition().notify()


def condition_notify_all_needs_the_lock() -> object:
    return threading.Condition().notify_all()


def condition_release_needs_the_lock() -> object:
    return threading.Condition().release()


def condition_wait_of_anothers_lock() -> object:
    condition = threading.Condition()
    seen: list[object] = []

    def wait() -> None:
        try:
            condition.wait(0.01)
        except RuntimeError as error:
            seen.append(str(error))

    with condition:
        _join(_started(wait))
    return seen


def condition_wait_times_out() -> object:
    condition = threading.Condition()
    with condition:
        return condition.wait(0.01), condition.wait(0), condition.wait(-1)


def condition_wait_is_notified() -> object:
    condition = threading.Condition()

    def notify() -> None:
        with condition:
            condition.notify()

    with condition:
        threads = _started(notify)
        woken = condition.wait(5)
    _join(threads)
    return woken


def condition_wait_for_is_true_at_once() -> object:
    condition = threading.Condition()
    with condition:
        return condition.wait_for(lambda: "yes"), condition.wait_for(lambda: [1], timeout=0)


def condition_wait_for_no_time_needs_the_lock() -> object:
    return threading.Condition().wait_for(list, timeout=0)


def condition_wait_for_gives_up() -> object:
    condition = threading.Condition()
    with condition:
        return condition.wait_for(lambda: 0, timeout=0.01), condition.wait_for(list, -1)


def condition_wait_for_becomes_true() -> object:
    condition = threading.Condition()
    items: list[int] = []

    def put() -> None:
        for item in range(2):
            with condition:
                items.append(item)
                condition.notify_all()

    threads = _started(put)
    with condition:
        came = condition.wait_for(lambda: len(items) == 2, timeout=5)
    _join(threads)
    return came


def _woken_of_two(notify: Callable[[threading.Condition], object]) -> int:
    """Let two wait, notify once both do, and count who was woken."""
    condition = threading.Condition()
    waiting: list[int] = []
    woken: list[bool] = []

    def wait() -> None:
        with condition:
            waiting.append(1)
            if condition.wait(0.3):
                woken.append(True)

    threads = _started(wait, wait)
    while len(waiting) < 2:
        time.sleep(0.001)
    with condition:
        notify(condition)
    _join(threads)
    return len(woken)


def condition_notify_wakes_one() -> object:
    return _woken_of_two(lambda condition: condition.notify())


def condition_notify_all_wakes_all() -> object:
    return _woken_of_two(lambda condition: condition.notify_all())


def condition_notify_several() -> object:
    return _woken_of_two(lambda condition: condition.notify(7)), _woken_of_two(lambda condition: condition.notify(0))


def condition_is_reentrant() -> object:
    condition = threading.Condition()
    with condition, condition:
        return condition.wait(0.01), condition.acquire(False)


def condition_over_a_plain_lock() -> object:
    lock = threading.Lock()
    condition = threading.Condition(lock)
    with condition:
        return lock.locked(), condition.wait(0.01), condition.acquire(False)


def condition_over_a_plain_lock_that_another_holds() -> object:
    lock = threading.Lock()
    condition = threading.Condition(lock)
    lock.acquire()
    seen: list[object] = []
    _join(_started(lambda: seen.append(condition.notify())))
    return seen


class _Gate:
    """A lock that somebody wrote."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.taken = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self.taken += 1
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def condition_over_a_lock_of_ones_own() -> object:
    gate = _Gate()
    condition = threading.Condition(gate)  # type: ignore[arg-type]
    with condition:
        return condition.wait(0.01), gate.taken > 1


def condition_over_no_lock() -> object:
    return threading.Condition("lock")  # type: ignore[arg-type]


class _Noted(threading.Condition):
    notes = 0

    def notify(self, n: int = 1) -> None:
        self.notes += 1
        super().notify(n)


def condition_of_a_class_of_ones_own() -> object:
    condition = _Noted()

    def notify() -> None:
        with condition:
            condition.notify()

    with condition:
        threads = _started(notify)
        woken = condition.wait(5)
    _join(threads)
    return woken, condition.notes


def event_is_set_and_cleared() -> object:
    event = threading.Event()
    return event.is_set(), event.set(), event.is_set(), event.set(), event.clear(), event.is_set(), event.clear()


def event_wait_times_out() -> object:
    event = threading.Event()
    return event.wait(0.01), event.wait(timeout=0), event.wait(-1)


def event_wait_returns_at_once() -> object:
    event = threading.Event()
    event.set()
    return event.wait(), event.wait(0), event.wait(-1)


def event_wakes_all() -> object:
    event = threading.Event()
    woken: list[bool] = []
    threads = _started(*[lambda: woken.append(event.wait())] * 3)
    event.set()
    _join(threads)
    return woken


def event_that_is_cleared_at_once_wakes_who_slept() -> object:
    event = threading.Event()
    woken: list[bool] = []
    threads = _started(lambda: woken.append(event.wait(5)))
    time.sleep(0.1)
    event.set()
    event.clear()
    _join(threads)
    return woken, event.is_set()


def event_has_its_class() -> object:
    return isinstance(threading.Event(), threading.Event)


def event_takes_no_arguments() -> object:
    return threading.Event(True)  # type: ignore[call-arg]


def barrier_lets_all_go() -> object:
    barrier = threading.Barrier(3)
    places: list[int] = []
    threads = _started(*[lambda: places.append(barrier.wait())] * 2)
    places.append(barrier.wait())
    _join(threads)
    return sorted(places), barrier.parties, barrier.n_waiting, barrier.broken


def barrier_acts_once() -> object:
    acts: list[str] = []
    barrier = threading.Barrier(2, action=lambda: acts.append("act"))
    threads = _started(barrier.wait)
    barrier.wait()
    _join(threads)
    return acts


def barrier_times_out() -> object:
    return threading.Barrier(2, timeout=0.01).wait()


def barrier_stays_broken() -> object:
    barrier = threading.Barrier(2)
    try:
        barrier.wait(0.01)
    except threading.BrokenBarrierError:
        return barrier.broken


def barrier_is_aborted() -> object:
    barrier = threading.Barrier(2)
    barrier.abort()
    return barrier.wait()


def barrier_is_reset() -> object:
    barrier = threading.Barrier(2)
    barrier.abort()
    barrier.reset()
    threads = _started(barrier.wait)
    place = barrier.wait()
    _join(threads)
    return place in (0, 1), barrier.broken


def barrier_reset_breaks_who_waits() -> object:
    barrier = threading.Barrier(2)
    seen: list[str] = []

    def wait() -> None:
        try:
            barrier.wait()
        except threading.BrokenBarrierError as error:
            seen.append(type(error).__name__)

    threads = _started(wait)
    while barrier.n_waiting == 0:
        time.sleep(0.001)
    barrier.reset()
    _join(threads)
    return seen, barrier.broken


def barrier_whose_action_raises_is_broken() -> object:
    barrier = threading.Barrier(1, action=lambda: {}["no"])
    try:
        barrier.wait()
    except KeyError as error:
        return str(error), barrier.broken


def barrier_goes_round() -> object:
    barrier = threading.Barrier(2)
    rounds: list[int] = []

    def go() -> None:
        for number in range(2):
            barrier.wait()
            rounds.append(number)

    threads = _started(go, go)
    _join(threads)
    return rounds
