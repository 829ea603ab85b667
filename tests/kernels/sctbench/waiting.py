"""Threads that wait on a condition, and whom nobody wakes, or who are woken for nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.kernels.kernel import EXCEPTION, LOST_WAKEUP, Kernel, together


def sync01() -> None:
    """Look for room before the lock is held, and so wait after the only signal."""
    _fill_one_place(look_first=True)


def sync01_fixed() -> None:
    """Look and wait under one lock."""
    _fill_one_place(look_first=False)


def _fill_one_place(*, look_first: bool) -> None:
    full, changed = True, threading.Condition()

    def fill() -> None:
        nonlocal full
        if look_first:
            if full:
                with changed:
                    changed.wait()
        else:
            with changed:
                while full:
                    changed.wait()
        full = True

    def take() -> None:
        nonlocal full
        with changed:
            full = False
            changed.notify()

    together(fill, take)


def sync02() -> None:
    """Look once, before the wait, and not again behind it: who was faster has taken it."""
    _consume_two(again=False)


def sync02_fixed() -> None:
    """Look again after each wait."""
    _consume_two(again=True)


def _consume_two(*, again: bool) -> None:
    items, changed = 0, threading.Condition()

    def consume() -> None:
        nonlocal items
        with changed:
            if again:
                while items == 0:
                    changed.wait()
            elif items == 0:
                changed.wait()
            items -= 1
            assert items >= 0, "took what is not there"

    def produce() -> None:
        nonlocal items
        for _ in range(2):
            with changed:
                items += 1
                changed.notify_all()

    together(consume, consume, produce)


def barrier() -> None:
    """A barrier that is closed for the next round before all of this one have left."""
    _meet_twice(_meet_by_count)


def barrier_fixed() -> None:
    """A barrier that tells its rounds apart."""
    _meet_twice(_meet_by_round)


class Meeting:
    """How many have come, and to which round."""

    def __init__(self) -> None:
        self.came = 0
        self.round = 0
        self.changed = threading.Condition()


def _meet_twice(meet: Callable[[Meeting], None]) -> None:
    meeting = Meeting()

    def go() -> None:
        meet(meeting)
        meet(meeting)

    together(go, go)


def _meet_by_count(meeting: Meeting) -> None:
    with meeting.changed:
        meeting.came += 1
        if meeting.came == 2:
            meeting.changed.notify_all()
        while meeting.came < 2:
            meeting.changed.wait()
    with meeting.changed:
        meeting.came = 0


def _meet_by_round(meeting: Meeting) -> None:
    with meeting.changed:
        meeting.came += 1
        mine = meeting.round
        if meeting.came == 2:
            meeting.came = 0
            meeting.round += 1
            meeting.changed.notify_all()
        while meeting.round == mine:
            meeting.changed.wait()


def boundedbuffer() -> None:
    """Wake one of all that wait: it may be the one that waits for something else."""
    _pass_two_on(everybody=False)


def boundedbuffer_fixed() -> None:
    """Wake everybody."""
    _pass_two_on(everybody=True)


def _pass_two_on(*, everybody: bool) -> None:
    place: list[int] = []
    changed = threading.Condition()

    def tell() -> None:
        if everybody:
            changed.notify_all()
        else:
            changed.notify()

    def put_two() -> None:
        for value in (1, 2):
            with changed:
                while place:
                    changed.wait()
                place.append(value)
                tell()

    def take() -> None:
        with changed:
            while not place:
                changed.wait()
            place.pop()
            tell()

    together(take, take, put_two)


KERNELS = (
    Kernel(sync01, sync01_fixed, LOST_WAKEUP, "condition", "SCTBench, CS.sync01_bad"),
    Kernel(sync02, sync02_fixed, EXCEPTION, "took what is not there", "SCTBench, CS.sync02_bad"),
    Kernel(barrier, barrier_fixed, LOST_WAKEUP, "condition", "A. Downey, The Little Book of Semaphores, 3.6"),
    Kernel(boundedbuffer, boundedbuffer_fixed, LOST_WAKEUP, "condition", "ConTest: BoundedBuffer"),
)
