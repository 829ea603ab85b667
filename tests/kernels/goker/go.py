"""What Go programs are made of, as far as the kernels need it, in terms of `threading`."""

from __future__ import annotations

import collections
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Closed(Exception):
    """The channel is closed."""


class Channel:
    """A channel of so many places; with none, who sends waits until it is received.

    Args:
        places: how many values may wait in it.
    """

    def __init__(self, places: int = 0) -> None:
        self._places = places
        self._values: collections.deque[object] = collections.deque()
        self._received = 0
        self._sent = 0
        self._closed = False
        self._changed = threading.Condition()

    def send(self, value: object) -> None:
        """Send a value, and wait while there is no room.

        Raises:
            Closed: nothing can be sent any more.
        """
        with self._changed:
            self._require_open("send on")
            mine = self._sent
            self._sent += 1
            self._values.append(value)
            self._changed.notify_all()
            while self._received + self._places <= mine:
                self._changed.wait()

    def receive(self) -> object:
        """Wait for a value.

        Raises:
            Closed: none will come any more.
        """
        with self._changed:
            while not self._values:
                if self._closed:
                    raise Closed("receive on closed channel")
                self._changed.wait()
            self._received += 1
            self._changed.notify_all()
            return self._values.popleft()

    def close(self) -> None:
        """Say that no value will come any more.

        Raises:
            Closed: it was said already.
        """
        with self._changed:
            self._require_open("close of")
            self._closed = True
            self._changed.notify_all()

    def _require_open(self, what: str) -> None:
        if self._closed:
            raise Closed(f"{what} closed channel")


class WaitGroup:
    """Waits for as many to be done as were added."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def add(self, count: int) -> None:
        """Expect so many more, or fewer."""
        with self._changed:
            self._count += count
            if self._count == 0:
                self._changed.notify_all()

    def done(self) -> None:
        """Expect one less."""
        self.add(-1)

    def wait(self) -> None:
        """Wait until none is expected."""
        with self._changed:
            while self._count > 0:
                self._changed.wait()


class RWMutex:
    """Many readers or one writer; a writer that waits holds up readers that come later."""

    def __init__(self) -> None:
        self._readers = 0
        self._writers = 0  # that wait or write
        self._writes = False
        self._changed = threading.Condition()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold it together with other readers."""
        with self._changed:
            while self._writers:
                self._changed.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold it alone."""
        with self._changed:
            self._writers += 1
            while self._readers or self._writes:
                self._changed.wait()
            self._writes = True
        try:
            yield
        finally:
            with self._changed:
                self._writes = False
                self._writers -= 1
                self._changed.notify_all()
