"""Wake a side that waits, and only then: a handshake over one shared word.

    sleeper: parked ← 1, fence, look again, futex wait while parked = 1
    ringer:  store what the sleeper waits for, fence, if parked = 1: parked ← 0, futex wake

With both fences, the sleeper sees the store or the ringer sees the flag. Setting the flag to 0 twice does no harm, so
any number of ringers share one word without compare-and-swap. A ringer killed between its two last steps is covered by
the bound of the sleep.
"""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.seam.api import Runtime, Words
from omni_ipc.transport.layout import DOORBELL_BYTES, READER_PARKED, Header, SegmentKind

LONGEST_SLEEP_S = 0.1


class Bell:
    """One sleeper, any number of ringers."""

    def __init__(self, rt: Runtime, words: Words, index: int) -> None:
        self._rt = rt
        self._words = words
        self._index = index

    def ring(self) -> None:
        """Wake the sleeper, if it sleeps; call it after the store that it waits for."""
        with self._rt.region("Bell.Ring"):
            self._words.fence()
            if self._words.load(self._index):  # SYNC bell.parked
                self._words.store(self._index, 0)
                self._words.wake(self._index)

    def sleep_unless(self, ready: Callable[[], bool], timeout: float) -> None:
        """Sleep until rung, but not if ``ready()``, and at most ``timeout`` seconds or 100 ms; then look again."""
        with self._rt.region("Bell.Park"):
            self._words.store(self._index, 1)  # SYNC bell.parked
            self._words.fence()
            seen = ready()
        if seen or not self._words.wait(self._index, 1, min(timeout, LONGEST_SLEEP_S)):
            self._words.store(self._index, 0)  # nobody else did


def create_doorbell(*, rt: Runtime, buffer: memoryview, epoch: int = 0) -> Bell:
    """Lay a port's doorbell into a zero-filled buffer of `DOORBELL_BYTES`."""
    Header(SegmentKind.DOORBELL, 0, epoch).lay(buffer)
    return Bell(rt, rt.words(buffer[:DOORBELL_BYTES]), READER_PARKED)


def open_doorbell(*, rt: Runtime, buffer: memoryview, name: str = "doorbell") -> Bell:
    """Open a doorbell that the port has laid.

    Raises:
        FormatError: the buffer holds no doorbell of this version.
    """
    Header.read(buffer, SegmentKind.DOORBELL, name)
    return Bell(rt, rt.words(buffer[:DOORBELL_BYTES]), READER_PARKED)
