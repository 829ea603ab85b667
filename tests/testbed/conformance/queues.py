"""The four queues."""

from __future__ import annotations

import queue
import threading
from typing import Any


def _filled(kind: Any, *items: Any, maxsize: int = 0) -> Any:
    made = kind(maxsize) if maxsize else kind()
    for item in items:
        made.put(item)
    return made


def queue_is_first_in_first_out() -> object:
    filled = _filled(queue.Queue, 2, 1, 3)
    return [filled.get() for _ in range(3)], filled.empty()


def queue_lifo_is_last_in_first_out() -> object:
    filled = _filled(queue.LifoQueue, 2, 1, 3)
    return [filled.get() for _ in range(3)], isinstance(filled, queue.LifoQueue), isinstance(filled, queue.Queue)


def queue_priority_gives_the_least() -> object:
    filled = _filled(queue.PriorityQueue, 2, 1, 3)
    return [filled.get() for _ in range(3)], isinstance(filled, queue.PriorityQueue), isinstance(filled, queue.Queue)


def queue_priority_cannot_compare() -> object:
    return _filled(queue.PriorityQueue, 1, "a")


def queue_simple_is_first_in_first_out() -> object:
    filled = _filled(queue.SimpleQueue, 2, 1, 3)
    return filled.qsize(), [filled.get() for _ in range(3)], filled.empty(), isinstance(filled, queue.SimpleQueue)


def queue_is_full() -> object:
    return _filled(queue.Queue, 1, maxsize=1).put_nowait(2)


def queue_is_full_without_waiting() -> object:
    return _filled(queue.Queue, 1, maxsize=1).put(2, block=False, timeout=-1)


def queue_stays_full() -> object:
    return _filled(queue.Queue, 1, maxsize=1).put(2, timeout=0.01)


def queue_lifo_stays_full() -> object:
    return _filled(queue.LifoQueue, 1, maxsize=1).put(2, True, 0)


def queue_is_empty() -> object:
    return queue.Queue[int]().get_nowait()


def queue_is_empty_without_waiting() -> object:
    return queue.Queue[int]().get(False, -1)


def queue_stays_empty() -> object:
    return queue.PriorityQueue[int]().get(timeout=0.01)


def queue_simple_stays_empty() -> object:
    return queue.SimpleQueue[int]().get(timeout=0.01)


def queue_simple_is_empty() -> object:
    return queue.SimpleQueue[int]().get_nowait()


def queue_get_refuses_a_negative_timeout() -> object:
    return queue.Queue[int]().get(timeout=-1)


def queue_put_refuses_a_negative_timeout() -> object:
    return queue.Queue[int](3).put(1, timeout=-1)


def queue_unbounded_put_does_not_look_at_the_timeout() -> object:
    unbounded = queue.Queue[int]()
    return unbounded.put(1, timeout=-1), unbounded.qsize()


def queue_simple_get_refuses_a_negative_timeout() -> object:
    return queue.SimpleQueue[int]().get(timeout=-1)


def queue_simple_put_never_waits() -> object:
    simple = queue.SimpleQueue[int]()
    return simple.put(1, True, -1), simple.put_nowait(2), simple.put(3, block=False), simple.qsize()


def queue_tells_its_size() -> object:
    bounded = queue.Queue[int](2)
    sizes = []
    for item in range(2):
        sizes.append((bounded.qsize(), bounded.empty(), bounded.full()))
        bounded.put(item)
    return sizes, bounded.qsize(), bounded.empty(), bounded.full(), bounded.maxsize


def queue_with_a_negative_size_is_unbounded() -> object:
    unbounded = queue.Queue[int](-1)
    unbounded.put(1)
    return unbounded.full(), unbounded.maxsize


def queue_of_no_number() -> object:
    return queue.Queue("two").put(1)  # type: ignore[arg-type]


def queue_takes_one_argument() -> object:
    return queue.Queue(1, 2)  # type: ignore[call-arg]


def queue_wakes_who_gets() -> object:
    waited = queue.Queue[str]()
    threading.Timer(0.01, waited.put, ("item",)).start()
    return waited.get(timeout=5)


def queue_wakes_who_puts() -> object:
    waited = _filled(queue.Queue, 1, maxsize=1)
    threading.Timer(0.01, waited.get).start()
    return waited.put(2, timeout=5), waited.qsize()


def queue_simple_wakes_who_gets() -> object:
    waited = queue.SimpleQueue[str]()
    threading.Timer(0.01, waited.put, ("item",)).start()
    return waited.get()


def queue_hands_over_all() -> object:
    passed = queue.Queue[int](2)
    got: list[int] = []

    def consume() -> None:
        got.extend(iter(passed.get, -1))

    thread = threading.Thread(target=consume)
    thread.start()
    for item in (*range(5), -1):
        passed.put(item)
    thread.join()
    return got


def queue_task_done_too_often() -> object:
    filled = _filled(queue.Queue, 1)
    return filled.task_done(), filled.task_done()


def queue_join_of_an_empty_one() -> object:
    return queue.Queue[int]().join()


def queue_join_waits_for_task_done() -> object:
    filled = _filled(queue.Queue, 1, 2)
    done: list[int] = []

    def work() -> None:
        for _ in range(2):
            done.append(filled.get())
            filled.task_done()

    thread = threading.Thread(target=work)
    thread.start()
    filled.join()
    seen = list(done)
    thread.join()
    return seen, filled.unfinished_tasks


def queue_shows_its_items() -> object:
    return list(_filled(queue.Queue, 1, 2).queue), _filled(queue.PriorityQueue, 2, 1).queue


def queue_lock_is_for_all() -> object:
    filled = _filled(queue.Queue, 1, 2)
    with filled.mutex:
        filled.queue.clear()
        blocked = filled.mutex.acquire(False)
    return filled.qsize(), blocked, filled.empty()


def queue_lock_keeps_others_out() -> object:
    filled = _filled(queue.Queue, 1)
    thread = threading.Thread(target=filled.get)
    with filled.mutex:
        thread.start()
        thread.join(0.01)
        left = thread.is_alive(), len(filled.queue)
    thread.join()
    return left, len(filled.queue)


def queue_conditions_are_for_all() -> object:
    waited = queue.Queue[int]()

    def put() -> None:
        waited.put(1)

    thread = threading.Thread(target=put)
    with waited.not_empty:
        thread.start()
        woken = waited.not_empty.wait(5)
    thread.join()
    return woken, waited.get()


class _Distinct(queue.Queue[Any]):
    def _init(self, maxsize: int) -> None:
        self.seen: dict[Any, None] = {}

    def _qsize(self) -> int:
        return len(self.seen)

    def _put(self, item: Any) -> None:
        self.seen[item] = None

    def _get(self) -> Any:
        return self.seen.popitem()[0]


def queue_of_a_class_of_ones_own() -> object:
    distinct = _Distinct(2)
    for item in (1, 1, 2):
        distinct.put(item)
    return distinct.qsize(), distinct.full(), distinct.get(), distinct.get(timeout=1), distinct.empty()


def queue_of_a_class_of_ones_own_stays_empty() -> object:
    return _Distinct().get(timeout=0.01)


def queue_is_shut_down() -> object:
    if not hasattr(queue, "ShutDown"):
        return "not in this version"
    filled = _filled(queue.Queue, 1)
    filled.shutdown()
    seen = []
    for act in (lambda: filled.put(2), filled.get, filled.get, filled.get_nowait):
        try:
            seen.append(act())
        except queue.ShutDown as error:
            seen.append(type(error).__name__)
    return seen, filled.is_shutdown


def queue_is_shut_down_at_once() -> object:
    if not hasattr(queue, "ShutDown"):
        return "not in this version"
    filled = _filled(queue.LifoQueue, 1, 2)
    filled.shutdown(immediate=True)
    filled.join()
    return filled.qsize(), filled.get()


def queue_has_no_such_thing() -> object:
    return queue.Queue[int]().nothing  # type: ignore[attr-defined]
