"""Deques of work: their owner takes at one end, thieves take at the other, and the last item is the hard one."""

from __future__ import annotations

import threading

from tests.kernels.kernel import EXCEPTION, Kernel, together


class CilkDeque:
    """The owner moves the tail, thieves the head; each one moves first, and looks then.

    Source: M. Frigo, C. Leiserson, K. Randall, "The implementation of the Cilk-5 multithreaded language", PLDI 1998.
    """

    def __init__(self, *items: str) -> None:
        self.items = list(items)
        self.head = 0
        self.tail = len(items)
        self.lock = threading.Lock()

    def steal(self) -> str | None:
        """Take the item at the head, as a thief."""
        with self.lock:
            self.head += 1
            if self.head > self.tail:
                self.head -= 1
                return None
            return self.items[self.head - 1]

    def take(self) -> str | None:
        """Take the item at the tail, as the owner; with the lock only if it may be the last one."""
        self.tail -= 1
        if self.head > self.tail:
            self.tail += 1
            with self.lock:
                self.tail -= 1
                if self.head > self.tail:
                    self.tail += 1
                    return None
        return self.items[self.tail]

    def take_wrongly(self) -> str | None:
        """Look first, and move then."""
        if self.head >= self.tail:
            return None
        self.tail -= 1
        return self.items[self.tail]


def cilk_deque() -> None:
    """The owner looks before it moves the tail: the last item is taken twice."""
    deque = CilkDeque("x")
    taken: list[str | None] = []
    together(lambda: taken.append(deque.take_wrongly()), lambda: taken.append(deque.steal()))
    assert taken.count("x") == 1, f"taken: {taken}"


def cilk_deque_fixed() -> None:
    """It moves the tail before it looks."""
    deque = CilkDeque("x")
    taken: list[str | None] = []
    together(lambda: taken.append(deque.take()), lambda: taken.append(deque.steal()))
    assert taken.count("x") == 1, f"taken: {taken}"


class ChaseLevDeque:
    """The top is moved by compare-and-exchange, by thieves always, and by the owner for the last item.

    Source: D. Chase, Y. Lev, "Dynamic circular work-stealing deque", SPAA 2005.
    """

    def __init__(self, *items: str) -> None:
        self.items = list(items)
        self.top = 0
        self.bottom = len(items)
        self._atomic = threading.Lock()

    def _move_top(self, seen: int) -> bool:
        with self._atomic:
            if self.top != seen:
                return False
            self.top = seen + 1
            return True

    def steal(self) -> str | None:
        """Take the item at the top, as a thief; None if somebody was faster."""
        top = self.top
        if top >= self.bottom:
            return None
        item = self.items[top]
        return item if self._move_top(top) else None

    def take(self, *, compare: bool = True) -> str | None:
        """Take the item at the bottom, as the owner.

        Args:
            compare: the last item is fought for.
        """
        self.bottom -= 1
        bottom, top = self.bottom, self.top
        if top > bottom:
            self.bottom += 1
            return None
        item = self.items[bottom]
        if top < bottom:
            return item
        won = self._move_top(top) if compare else True
        self.bottom += 1
        return item if won else None


def chase_lev_deque() -> None:
    """The owner takes the last item without a fight for it."""
    _take_and_steal(compare=False)


def chase_lev_deque_fixed() -> None:
    """Who moves the top has it."""
    _take_and_steal(compare=True)


def _take_and_steal(*, compare: bool) -> None:
    deque = ChaseLevDeque("x")
    taken: list[str | None] = []
    together(lambda: taken.append(deque.take(compare=compare)), lambda: taken.append(deque.steal()))
    assert taken.count("x") == 1, f"taken: {taken}"


KERNELS = (
    Kernel(cilk_deque, cilk_deque_fixed, EXCEPTION, "taken: ['x', 'x']", "SCTBench, Chess.WSQ"),
    Kernel(chase_lev_deque, chase_lev_deque_fixed, EXCEPTION, "taken: ['x', 'x']", "SCTBench, Chess.SWSQ"),
)
