"""Wake a side that waits, and only then: a handshake over one shared word.

    sleeper: parked ← 1, fence, look again, wait while parked = 1
    ringer:  store what the sleeper waits for, fence, if parked = 1: parked ← 0, wake

With both fences, the sleeper sees the store or the ringer sees the flag. Setting the flag to 0 twice does no harm, so
any number of ringers share one word without compare-and-swap. A ringer killed between its two last steps is covered by
the bound of the sleep.

A sleeper waits on a futex. An event loop cannot, so a bell may have an eventfd too, which then wakes both; the header
of a doorbell says so, and its descriptor travels beside the segment.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

from omni_ipc.errors import UsageError
from omni_ipc.seam.api import Runtime, Words
from omni_ipc.transport.layout import DOORBELL_BYTES, READER_PARKED, WAKING, Header, SegmentKind

LONGEST_SLEEP_S = 0.1


class Bell:
    """One sleeper, any number of ringers."""

    def __init__(self, rt: Runtime, words: Words, index: int, *, eventfd: int | None = None) -> None:
        self.eventfd = eventfd
        self._rt = rt
        self._words = words
        self._index = index

    def ring(self) -> None:
        """Wake the sleeper, if it sleeps; call it after the store that it waits for, in one region with it."""
        self._words.fence()
        if self._words.load(self._index):  # SYNC bell.parked
            self._words.store(self._index, 0)
            self._words.wake(self._index)
            if self.eventfd is not None:
                os.eventfd_write(self.eventfd, 1)

    def give_up_eventfd(self) -> None:
        """Ring without it, as its descriptor is given back: who sleeps on it looks again within 100 ms."""
        self.eventfd = None

    def sleep_unless(self, ready: Callable[[], bool], timeout: float) -> None:
        """Sleep until rung, but not if ``ready()``, and at most ``timeout`` seconds or 100 ms; then look again."""
        seen = self._park(ready)
        if seen or not self._words.wait(self._index, 1, min(timeout, LONGEST_SLEEP_S)):
            self._words.store(self._index, 0)  # nobody else did

    @contextlib.contextmanager
    def parked(self, ready: Callable[[], bool]) -> Iterator[bool]:
        """Be parked for a while, and tell whether it is already ``ready()``: for whoever sleeps on the eventfd."""
        try:
            yield self._park(ready)
        finally:
            self._words.store(self._index, 0)

    def _park(self, ready: Callable[[], bool]) -> bool:
        with self._rt.region("Bell.Park"):
            self._words.store(self._index, 1)  # SYNC bell.parked
            self._words.fence()
            return ready()


def create_doorbell(*, rt: Runtime, buffer: memoryview, epoch: int = 0, eventfd: int | None = None) -> Bell:
    """Lay a port's doorbell into a zero-filled buffer of `DOORBELL_BYTES`.

    Args:
        eventfd: to be read from an event loop: ``os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)``; stays the caller's.
    """
    Header(SegmentKind.DOORBELL, 0, epoch).lay(buffer)
    words = rt.words(buffer[:DOORBELL_BYTES])
    words.store(WAKING, eventfd is not None)
    return Bell(rt, words, READER_PARKED, eventfd=eventfd)


def open_doorbell(*, rt: Runtime, buffer: memoryview, name: str = "doorbell", eventfd: int | None = None) -> Bell:
    """Open a doorbell that the port has laid.

    Args:
        eventfd: the port's, if it has one; stays the caller's.

    Raises:
        FormatError: the buffer holds no doorbell of this version.
        UsageError: the doorbell rings an eventfd, and none is given; or the other way round.
    """
    Header.read(buffer, SegmentKind.DOORBELL, name)
    words = rt.words(buffer[:DOORBELL_BYTES])
    if (needed := words.load(WAKING)) != (eventfd is not None):
        raise UsageError(
            f"Doorbell '{name}' rings {'an' if needed else 'no'} eventfd, and {eventfd=} was given. "
            "Pass what its port was created with, beside the descriptor of the segment."
        )
    return Bell(rt, words, READER_PARKED, eventfd=eventfd)
