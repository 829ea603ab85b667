"""Locks that are taken in two orders, or in two moments."""

from __future__ import annotations

import threading

from tests.kernels.kernel import DEADLOCK, EXCEPTION, Kernel, together


def deadlock01() -> None:
    """Two locks in two orders."""
    _take_pairs(((0, 1), (1, 0)))


def deadlock01_fixed() -> None:
    """Two locks in one order."""
    _take_pairs(((0, 1), (0, 1)))


def din_phil3() -> None:
    """Each philosopher takes the fork on the left first."""
    _take_pairs(((0, 1), (1, 2), (2, 0)))


def din_phil3_fixed() -> None:
    """Each takes the fork of the lower number first."""
    _take_pairs(((0, 1), (1, 2), (0, 2)))


def _take_pairs(pairs: tuple[tuple[int, int], ...]) -> None:
    locks = [threading.Lock() for _ in pairs]
    meals = [0 for _ in pairs]

    def eat(place: int) -> None:
        first, second = pairs[place]
        with locks[first], locks[second]:
            meals[place] += 1

    together(*[lambda place=place: eat(place) for place in range(len(pairs))])
    assert sum(meals) == len(pairs)


def carter() -> None:
    """Wait for the other group to leave, with the door locked that it leaves by."""
    door = threading.Lock()
    _visit_in_groups({"one": door, "other": door})


def carter_fixed() -> None:
    """Each group has a door of its own."""
    _visit_in_groups({"one": threading.Lock(), "other": threading.Lock()})


def _visit_in_groups(doors: dict[str, threading.Lock]) -> None:
    room = threading.Lock()
    inside = dict.fromkeys(doors, 0)

    def visit(group: str) -> None:
        with doors[group]:
            inside[group] += 1
            if inside[group] == 1:
                room.acquire()
        with doors[group]:
            inside[group] -= 1
            if inside[group] == 0:
                room.release()

    together(*[lambda group=group: visit(group) for group in doors])


def rwlock() -> None:
    """A writer looks for readers, and locks them out later."""
    _read_and_write(at_once=False)


def rwlock_fixed() -> None:
    """It does both at once."""
    _read_and_write(at_once=True)


class Access:
    """Who reads and who writes."""

    def __init__(self) -> None:
        self.readers = 0
        self.writes = False
        self.lock = threading.Lock()


def _read_and_write(*, at_once: bool) -> None:
    access = Access()

    def read() -> None:
        with access.lock:
            if access.writes:
                return
            access.readers += 1
        assert not access.writes, "somebody writes under a reader"
        with access.lock:
            access.readers -= 1

    def write() -> None:
        with access.lock:
            free = access.readers == 0
            if at_once:
                access.writes = free
        if not at_once:
            with access.lock:
                access.writes = free

    together(read, write)


KERNELS = (
    Kernel(deadlock01, deadlock01_fixed, DEADLOCK, "lock", "SCTBench, CS.deadlock01_bad"),
    Kernel(din_phil3, din_phil3_fixed, DEADLOCK, "lock", "SCTBench, CS.din_phil3_sat"),
    Kernel(carter, carter_fixed, DEADLOCK, "lock", "SCTBench, CS.carter01_bad"),
    Kernel(
        rwlock, rwlock_fixed, EXCEPTION, "somebody writes under a reader", "SV-COMP, pthread-atomic: read_write_lock"
    ),
)
