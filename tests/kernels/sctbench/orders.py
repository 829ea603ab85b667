"""Two writes that belong together, and somebody who sees one of them; and things that happen in the wrong order."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from tests.kernels.kernel import EXCEPTION, Kernel, together

Lock = AbstractContextManager[object]


@dataclasses.dataclass
class Pair:
    """Two numbers that add up to nothing."""

    a: int = 0
    b: int = 0


def reorder_3() -> None:
    """Two set a pair, half by half; one checks it."""
    _set_and_check(nullcontext(), setters=2)


def reorder_3_fixed() -> None:
    """A lock keeps the halves together."""
    _set_and_check(threading.Lock(), setters=2)


def reorder_4() -> None:
    """Three set a pair, half by half; one checks it."""
    _set_and_check(nullcontext(), setters=3)


def reorder_4_fixed() -> None:
    """A lock keeps the halves together."""
    _set_and_check(threading.Lock(), setters=3)


def _set_and_check(lock: Lock, setters: int) -> None:
    pair = Pair()

    def set_both() -> None:
        with lock:
            pair.a = 1
            pair.b = -1

    def check() -> None:
        with lock:
            a, b = pair.a, pair.b
        assert a + b == 0, f"the pair is {a}, {b}"

    together(*[set_both] * setters, check)


def twostage() -> None:
    """Two stages, a lock each: a reader may come between them."""
    _write_in_stages(threading.Lock(), threading.Lock(), nullcontext())


def twostage_fixed() -> None:
    """One more lock around both stages."""
    _write_in_stages(threading.Lock(), threading.Lock(), threading.Lock())


def _write_in_stages(first_lock: Lock, second_lock: Lock, both: Lock) -> None:
    stages = {"first": 0, "second": 0}

    def write() -> None:
        with both:
            with first_lock:
                stages["first"] = 1
            with second_lock:
                stages["second"] = stages["first"] + 1

    def read() -> None:
        with both:
            with first_lock:
                first = stages["first"]
            with second_lock:
                second = stages["second"]
        assert first == 0 or second == first + 1, f"the stages are {first}, {second}"

    together(write, read)


def wronglock() -> None:
    """Each counts under a lock, but not under the same."""
    _count(threading.Lock(), threading.Lock())


def wronglock_fixed() -> None:
    """Both count under one."""
    lock = threading.Lock()
    _count(lock, lock)


def _count(lock: Lock, other_lock: Lock) -> None:
    total = 0

    def add(own_lock: Lock) -> None:
        nonlocal total
        with own_lock:
            total += 1

    together(lambda: add(lock), lambda: add(other_lock))
    assert total == 2, f"counted {total} of 2"


_data = 0


def lazy() -> None:
    """One looks at a sum that is to be small still, while two add to it."""
    _add_and_look(wait=lambda _: None)


def lazy_fixed() -> None:
    """Who adds waits until it was looked at."""
    _add_and_look(wait=lambda looked: looked.wait())


def _add_and_look(wait: Callable[[threading.Event], object]) -> None:
    global _data
    _data = 0
    lock, looked = threading.Lock(), threading.Event()

    def add(number: int) -> None:
        global _data
        wait(looked)
        with lock:
            _data += number

    def look() -> None:
        with lock:
            assert _data < 3, f"the sum is {_data} already"
        looked.set()

    together(lambda: add(1), lambda: add(2), look)


def double_checked() -> None:
    """Say that something is there, and put it there afterwards."""
    _initialize(ready_first=True)


def double_checked_fixed() -> None:
    """Put it there, and say so afterwards."""
    _initialize(ready_first=False)


@dataclasses.dataclass
class Service:
    """Something that is made on first use."""

    ready: bool = False
    value: int | None = None


def _initialize(*, ready_first: bool) -> None:
    service, lock = Service(), threading.Lock()

    def use() -> None:
        if not service.ready:
            with lock:
                if not service.ready:
                    if ready_first:
                        service.ready = True
                        service.value = 42
                    else:
                        service.value = 42
                        service.ready = True
        value = service.value
        assert value == 42, f"used with {value}"

    together(use, use)


KERNELS = (
    Kernel(reorder_3, reorder_3_fixed, EXCEPTION, "the pair is", "SCTBench, CS.reorder_3_bad"),
    Kernel(reorder_4, reorder_4_fixed, EXCEPTION, "the pair is", "SCTBench, CS.reorder_4_bad"),
    Kernel(twostage, twostage_fixed, EXCEPTION, "the stages are 1, 0", "SCTBench, CS.twostage_bad"),
    Kernel(wronglock, wronglock_fixed, EXCEPTION, "counted 1 of 2", "SCTBench, CS.wronglock_bad"),
    Kernel(lazy, lazy_fixed, EXCEPTION, "the sum is 3 already", "SCTBench, CS.lazy01_bad"),
    Kernel(double_checked, double_checked_fixed, EXCEPTION, "used with None", "D. Bacon et al., 2000"),
)
