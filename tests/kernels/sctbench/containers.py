"""Containers that are whole between any two calls, and are not while somebody is in the middle of one."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext

from tests.kernels.kernel import EXCEPTION, Kernel, together

Lock = AbstractContextManager[object]


def queue() -> None:
    """Take the first of a list that another one empties meanwhile."""
    _empty_queue(nullcontext())


def queue_fixed() -> None:
    """Look and take under a lock."""
    _empty_queue(threading.Lock())


def _empty_queue(lock: Lock) -> None:
    items = [7]
    taken: list[int] = []

    def dequeue() -> None:
        with lock:
            if items:
                taken.append(items.pop(0))

    together(dequeue, dequeue)
    assert taken == [7]


class Stack:
    """An array and the place of its top."""

    def __init__(self, lock: Lock) -> None:
        self.cells = [0, 0, 0]
        self.top = 0
        self._lock = lock

    def push(self, value: int) -> None:
        with self._lock:
            self.cells[self.top] = value
            self.top += 1

    def pop(self) -> int:
        with self._lock:
            self.top -= 1
            return self.cells[self.top]


def stack() -> None:
    """Push twice at once: one overwrites the other."""
    _push_two(nullcontext())


def stack_fixed() -> None:
    """Push under a lock."""
    _push_two(threading.Lock())


def _push_two(lock: Lock) -> None:
    values = Stack(lock)
    together(lambda: values.push(1), lambda: values.push(2))
    found = sorted((values.pop(), values.pop()))
    assert found == [1, 2], f"pushed 1 and 2, and popped {found}"


def circular_buffer() -> None:
    """Say that a cell is full before it is."""
    _send_and_receive(count_first=True)


def circular_buffer_fixed() -> None:
    """Fill it first."""
    _send_and_receive(count_first=False)


def _send_and_receive(*, count_first: bool) -> None:
    cells = [0, 0]
    sent = 0

    def send() -> None:
        nonlocal sent
        for value in (1, 2):
            if count_first:
                sent += 1
                cells[value - 1] = value
            else:
                cells[value - 1] = value
                sent += 1

    def receive() -> None:
        found = cells[:sent]
        assert 0 not in found, f"received {found}"

    together(send, receive)


class StringBuffer:
    """Characters under a lock of their own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lock = threading.RLock()

    def length(self) -> int:
        with self.lock:
            return len(self.text)

    def characters(self, end: int) -> str:
        with self.lock:
            if end > len(self.text):
                raise IndexError(f"{end} characters of {len(self.text)}")
            return self.text[:end]

    def truncate(self) -> None:
        with self.lock:
            self.text = ""


def stringbuffer() -> None:
    """Ask another buffer for its length, and later for so many characters."""
    _append_and_truncate(hold=False)


def stringbuffer_fixed() -> None:
    """Hold its lock for both."""
    _append_and_truncate(hold=True)


def _append_and_truncate(*, hold: bool) -> None:
    buffer, other = StringBuffer("abc"), StringBuffer("def")

    def append() -> None:
        with buffer.lock, other.lock if hold else nullcontext():
            buffer.text += other.characters(other.length())

    together(append, other.truncate)
    assert buffer.text in ("abc", "abcdef")


class Node:
    """A link of a stack, and how often it was pushed."""

    def __init__(self, name: str, below: Node | None) -> None:
        self.name = name
        self.below = below


def aba() -> None:
    """Compare the top of a stack and exchange it: it is the same one, on another stack."""
    _pop_against_pops(counted=False)


def aba_fixed() -> None:
    """Count the changes of the top, and compare the count, too."""
    _pop_against_pops(counted=True)


def _pop_against_pops(*, counted: bool) -> None:
    b = Node("b", None)
    a = Node("a", b)
    top: tuple[Node | None, int] = a, 0
    popped: list[str] = []
    atomic = threading.Lock()

    def exchange(old: tuple[Node | None, int], new: Node | None) -> bool:
        nonlocal top
        with atomic:
            if top[0] is not old[0] or (counted and top[1] != old[1]):
                return False
            top = new, top[1] + 1
            return True

    def pop() -> Node | None:
        seen = top
        node = seen[0]
        if node is None or not exchange(seen, node.below):
            return None  # it is tried once
        popped.append(node.name)
        return node

    def pop_two_and_push_the_first() -> None:
        node = pop()
        if node is not None and pop() is not None:
            popped.remove(node.name)
            node.below = top[0]
            exchange(top, node)

    together(pop, pop_two_and_push_the_first)
    left = top[0]
    assert left is None or left.name not in popped, f"{left.name} is popped, and on top"


KERNELS = (
    Kernel(queue, queue_fixed, EXCEPTION, "pop from empty list", "SCTBench, CS.queue_bad"),
    Kernel(stack, stack_fixed, EXCEPTION, "pushed 1 and 2, and popped", "SCTBench, CS.stack_bad"),
    Kernel(circular_buffer, circular_buffer_fixed, EXCEPTION, "received [", "SCTBench, CS.circular_buffer_bad"),
    Kernel(stringbuffer, stringbuffer_fixed, EXCEPTION, "3 characters of 0", "SCTBench, CB.stringbuffer-jdk1.4"),
    Kernel(aba, aba_fixed, EXCEPTION, "is popped, and on top", "M. Michael, 2004"),
)
