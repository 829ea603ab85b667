"""The watchdog: ends a step that blocks for real, by a signal that interrupts it."""

from __future__ import annotations

import linecache
import signal
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any

from omni_ipc.errors import Inconclusive
from omni_ipc.testbed.tasks import RunEnded
from omni_ipc.testbed.where import is_ours, is_stdlib, locate

if TYPE_CHECKING:
    from omni_ipc.testbed.uncontrolled import Guard

STALL_S = 5.0  # after which a step counts as blocked


class Watchdog:
    """Looks from time to time whether steps are still being taken.

    It borrows SIGALRM and the real-time timer of the process, and gives both back; a timer that somebody else had set
    (as test runners do) fires in time.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._seen: tuple[object, int] | None = None
        self._unchanged = 0
        self._handler: Any = None
        self._due: float | None = None
        self._interval = 0.0

    def start(self) -> None:
        """Begin to watch; only in the main thread."""
        self._handler = signal.signal(signal.SIGALRM, self._tick)
        delay, self._interval = signal.setitimer(signal.ITIMER_REAL, STALL_S / 2, STALL_S / 2)
        self._due = monotonic() + delay if delay > 0 else None

    def stop(self) -> None:
        """Give signal and timer back."""
        if self._handler is None:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)
        if self._due is not None:
            signal.setitimer(signal.ITIMER_REAL, max(self._due - monotonic(), 1e-6), self._interval)
        self._handler = self._seen = None

    def _tick(self, number: int, frame: FrameType | None) -> None:
        kernel = self._guard.running()
        if self._due is not None and monotonic() >= self._due:
            self._due = monotonic() + self._interval if self._interval else None
            self._hand_over(number, frame)
        seen = None if kernel is None else (kernel, kernel.depth)
        self._unchanged = self._unchanged + 1 if seen == self._seen else 0
        self._seen = seen
        if kernel is not None and self._unchanged >= 2:
            kernel.interrupt(Inconclusive(_describe(kernel.current.name, frame)))
            raise RunEnded

    def _hand_over(self, number: int, frame: FrameType | None) -> None:
        """Call the handler that was there before; what it raises ends the exploration, not just a task."""
        handler: Callable[[int, FrameType | None], object] | Any = self._handler
        if not callable(handler):
            return
        kernel = self._guard.running()
        try:
            handler(number, frame)
        except BaseException as error:
            if kernel is None:
                raise
            kernel.interrupt(error)
            raise RunEnded from None


def _describe(task: str, frame: FrameType | None) -> str:
    while frame is not None and (is_ours(frame.f_code.co_filename) or is_stdlib(frame.f_code.co_filename)):
        frame = frame.f_back
    line = "" if frame is None else linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return (
        f"Task '{task}' has not come to a point for {STALL_S:g} s of real time, at {locate(frame)}"
        f"{f' (`{line}`)' if line else ''}: it blocks on something that is not under control, or computes for long. "
        "Take locks, queues, futures and the clock from the runtime: rt.lock(), rt.queue(), rt.future(), rt.sleep()."
    )
