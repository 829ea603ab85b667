"""Who may be in the room: old and new ways to let in one at a time, each tried once, so that nobody polls for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from tests.kernels.kernel import EXCEPTION, Kernel, together


class Room:
    """Where only one may be."""

    def __init__(self) -> None:
        self.inside = 0

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be inside."""
        self.inside += 1
        assert self.inside == 1, "two are in the room"
        yield
        self.inside -= 1


def peterson() -> None:
    """Give way before it is said that one wants in."""
    _peterson(turn_first=True)


def peterson_fixed() -> None:
    """Say so, and give way then.

    Source: G. L. Peterson, "Myths about the mutual exclusion problem", 1981.
    """
    _peterson(turn_first=False)


def _peterson(*, turn_first: bool) -> None:
    room, wants, turn = Room(), [False, False], 0

    def enter(me: int) -> None:
        nonlocal turn
        if turn_first:
            turn = 1 - me
            wants[me] = True
        else:
            wants[me] = True
            turn = 1 - me
        if not wants[1 - me] or turn == me:
            with room.entered():
                pass
            wants[me] = False

    together(lambda: enter(0), lambda: enter(1))


def dekker() -> None:
    """Look whether the other one wants in before it is said that oneself does."""
    _dekker(look_first=True)


def dekker_fixed() -> None:
    """Say so, and look then.

    Source: E. W. Dijkstra, "Cooperating sequential processes", 1965.
    """
    _dekker(look_first=False)


def _dekker(*, look_first: bool) -> None:
    room, wants = Room(), [False, False]

    def enter(me: int) -> None:
        if look_first:
            free = not wants[1 - me]
            wants[me] = True
        else:
            wants[me] = True
            free = not wants[1 - me]
        if free:
            with room.entered():
                pass
        wants[me] = False

    together(lambda: enter(0), lambda: enter(1))


def bakery() -> None:
    """Draw a number, and do not say that it is being drawn: two may have the same."""
    _bakery(say=False)


def bakery_fixed() -> None:
    """Who meets somebody that draws a number comes back another day.

    Source: L. Lamport, "A new solution of Dijkstra's concurrent programming problem", 1974.
    """
    _bakery(say=True)


def _bakery(*, say: bool) -> None:
    room, draws, numbers = Room(), [False, False], [0, 0]

    def enter(me: int) -> None:
        other = 1 - me
        draws[me] = say
        numbers[me] = numbers[other] + 1
        draws[me] = False
        if not draws[other] and (numbers[other] == 0 or (numbers[me], me) < (numbers[other], other)):
            with room.entered():
                pass
            numbers[me] = 0

    together(lambda: enter(0), lambda: enter(1))


def semaphore() -> None:
    """Give back on the way out what may not have been taken on the way in."""
    _enter_politely(give_back_always=True)


def semaphore_fixed() -> None:
    """Give back what was taken."""
    _enter_politely(give_back_always=False)


def _enter_politely(*, give_back_always: bool) -> None:
    room, free = Room(), threading.Semaphore(1)

    def enter() -> None:
        taken = free.acquire(blocking=False)
        try:
            if taken:
                with room.entered():
                    pass
        finally:
            if taken or give_back_always:
                free.release()

    together(enter, enter, enter)


def bounded_semaphore() -> None:
    """Close a connection twice, once by the owner and once by who cleans up."""
    _close_twice(once=False)


def bounded_semaphore_fixed() -> None:
    """Who closes it says so, under a lock."""
    _close_twice(once=True)


def _close_twice(*, once: bool) -> None:
    slots, lock = threading.BoundedSemaphore(1), threading.Lock()
    closed = False
    slots.acquire()

    def close() -> None:
        nonlocal closed
        with lock if once else nullcontext():
            if not closed:
                closed = True
                slots.release()

    together(close, close)


KERNELS = (
    Kernel(peterson, peterson_fixed, EXCEPTION, "two are in the room", "SCTBench, CB-like: Peterson"),
    Kernel(dekker, dekker_fixed, EXCEPTION, "two are in the room", "SV-COMP, pthread-atomic: dekker"),
    Kernel(bakery, bakery_fixed, EXCEPTION, "two are in the room", "SV-COMP, pthread-atomic: lamport"),
    Kernel(semaphore, semaphore_fixed, EXCEPTION, "two are in the room", "ConTest: semaphore misuse"),
    Kernel(bounded_semaphore, bounded_semaphore_fixed, EXCEPTION, "released too many", "A connection pool's slots"),
)
