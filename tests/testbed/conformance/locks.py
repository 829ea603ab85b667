"""Lock, RLock and Semaphore."""

from __future__ import annotations

import threading
from collections.abc import Callable


def _elsewhere(act: Callable[[], object]) -> object:
    """Do something in another thread, and return what came of it."""
    came: list[object] = []

    def do() -> None:
        try:
            came.append(act())
        except Exception as error:
            came.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=do)
    thread.start()
    thread.join()
    return came[0]


def lock_is_taken() -> object:
    lock = threading.Lock()
    return lock.acquire(), lock.locked(), lock.release(), lock.locked()


def lock_is_not_reentrant() -> object:
    lock = threading.Lock()
    return lock.acquire(), lock.acquire(False), lock.acquire(blocking=False)


def lock_times_out() -> object:
    lock = threading.Lock()
    return lock.acquire(), lock.acquire(timeout=0.01), lock.acquire(True, 0.01), lock.acquire(timeout=0)


def lock_refuses_a_negative_timeout() -> object:
    return threading.Lock().acquire(timeout=-2)


def lock_refuses_a_negative_fraction() -> object:
    return threading.Lock().acquire(timeout=-0.5)


def lock_refuses_a_timeout_without_waiting() -> object:
    return threading.Lock().acquire(False, 1)


def lock_refuses_a_huge_timeout() -> object:
    return threading.Lock().acquire(timeout=1e10)


def lock_refuses_text_for_a_timeout() -> object:
    return threading.Lock().acquire(timeout="long")  # type: ignore[arg-type]


def lock_takes_minus_one_for_ever() -> object:
    return threading.Lock().acquire(True, -1), threading.Lock().acquire(False, -1)


def lock_refuses_a_release_too_many() -> object:
    return threading.Lock().release()


def lock_is_released_by_another() -> object:
    lock = threading.Lock()
    lock.acquire()
    return _elsewhere(lock.release), lock.locked()


def lock_is_handed_over() -> object:
    lock = threading.Lock()
    lock.acquire()
    thread = threading.Timer(0.01, lock.release)
    thread.start()
    taken = lock.acquire()
    thread.join()
    return taken


def lock_in_a_with() -> object:
    lock = threading.Lock()
    with lock as taken:
        inside = lock.locked()
    return taken, inside, lock.locked()


def lock_is_released_by_an_exception() -> object:
    lock = threading.Lock()
    try:
        with lock:
            raise KeyError("inside")
    except KeyError:
        return lock.locked()


def lock_has_its_class() -> object:
    kind = type(threading.Lock())
    return isinstance(threading.Lock(), kind), isinstance(threading.RLock(), kind)


def lock_takes_no_arguments() -> object:
    return threading.Lock(1)  # type: ignore[call-arg]


def rlock_is_reentrant() -> object:
    lock = threading.RLock()
    return lock.acquire(), lock.acquire(), lock.acquire(False), lock.release(), lock.release(), lock.release()


def rlock_refuses_a_release_too_many() -> object:
    lock = threading.RLock()
    with lock:
        pass
    return lock.release()


def rlock_is_not_released_by_another() -> object:
    lock = threading.RLock()
    lock.acquire()
    return _elsewhere(lock.release)


def rlock_is_not_taken_by_another() -> object:
    lock = threading.RLock()
    with lock, lock:
        held = _elsewhere(lambda: lock.acquire(False))
    return held, _elsewhere(lambda: lock.acquire(False))


def rlock_is_free_after_the_last_release() -> object:
    lock = threading.RLock()
    lock.acquire()
    lock.acquire()
    lock.release()
    once = _elsewhere(lambda: lock.acquire(timeout=0.01))
    lock.release()
    return once, _elsewhere(lambda: lock.acquire(timeout=0.01))


def rlock_refuses_a_timeout_without_waiting() -> object:
    return threading.RLock().acquire(False, 1)


def rlock_refuses_a_negative_timeout() -> object:
    return threading.RLock().acquire(timeout=-2)


def semaphore_counts() -> object:
    semaphore = threading.Semaphore(2)
    return [semaphore.acquire(blocking=False) for _ in range(3)]


def semaphore_times_out() -> object:
    semaphore = threading.Semaphore(0)
    return semaphore.acquire(timeout=0.01), semaphore.acquire(timeout=0), semaphore.acquire(timeout=-1)


def semaphore_refuses_a_negative_value() -> object:
    return threading.Semaphore(-1)


def semaphore_refuses_a_timeout_without_waiting() -> object:
    return threading.Semaphore().acquire(False, 1)


def semaphore_refuses_to_release_nothing() -> object:
    return threading.Semaphore().release(0)


def semaphore_releases_several() -> object:
    semaphore = threading.Semaphore(0)
    semaphore.release(2)
    semaphore.release()
    return [semaphore.acquire(blocking=False) for _ in range(4)]


def semaphore_in_a_with() -> object:
    semaphore = threading.Semaphore()
    with semaphore as taken:
        inside = semaphore.acquire(blocking=False)
    return taken, inside, semaphore.acquire(blocking=False)


def semaphore_wakes_who_waits() -> object:
    semaphore = threading.Semaphore(0)
    threading.Timer(0.01, semaphore.release).start()
    return semaphore.acquire(timeout=5)


def semaphore_may_grow() -> object:
    semaphore = threading.Semaphore(1)
    return semaphore.release(), semaphore.acquire(), semaphore.acquire()


def bounded_semaphore_may_not_grow() -> object:
    return threading.BoundedSemaphore(1).release()


def bounded_semaphore_may_not_grow_by_several() -> object:
    semaphore = threading.BoundedSemaphore(2)
    semaphore.acquire()
    return semaphore.release(2)


def bounded_semaphore_is_a_semaphore() -> object:
    semaphore = threading.BoundedSemaphore(1)
    with semaphore:
        inside = semaphore.acquire(blocking=False)
    return inside, isinstance(semaphore, threading.Semaphore), isinstance(semaphore, threading.BoundedSemaphore)


class _Counted(threading.Semaphore):
    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        self.taken = getattr(self, "taken", 0) + 1
        return super().acquire(blocking, timeout)


def semaphore_of_a_class_of_ones_own() -> object:
    semaphore = _Counted(1)
    return semaphore.acquire(), semaphore.acquire(timeout=0.01), semaphore.taken, type(semaphore) is _Counted
