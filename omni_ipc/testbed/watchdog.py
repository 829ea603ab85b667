"""The watchdog: ends a step that blocks for real, by a signal that interrupts it; what none does is the alarm's."""

from __future__ import annotations

import linecache
import signal
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import Any

from omni_ipc.errors import Inconclusive
from omni_ipc.testbed.alarm import ALARM
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.world import WORLD
from omni_ipc.testbed.tasks import RunEnded
from omni_ipc.testbed.where import is_ours, is_stdlib, locate

STALL_S = 5.0  # after which a step counts as blocked
_LOOKS = 10  # in that time


class Watchdog:
    """Looks from time to time whether steps are still being taken.

    It borrows SIGALRM and the real-time timer of the process, and gives both back; a timer that somebody else had set
    (as test runners do) fires in time.

    Args:
        running: gives the run of which a task runs now.
    """

    def __init__(self, running: Callable[[], Kernel | None]) -> None:
        self._running = running
        self._seen: tuple[object, int] | None = None
        self._since = 0.0  # when that was seen first
        self._handler: Any = None
        self._due: float | None = None
        self._interval = 0.0

    def start(self) -> None:
        """Begin to watch; only in the main thread."""
        self._handler = signal.signal(signal.SIGALRM, self._tick)
        delay, self._interval = signal.setitimer(signal.ITIMER_REAL, STALL_S / _LOOKS, STALL_S / _LOOKS)
        self._due = monotonic() + delay if delay > 0 else None
        ALARM.set()

    def stop(self) -> None:
        """Give signal and timer back."""
        if self._handler is None:
            return
        ALARM.switch_off()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)
        if self._due is not None:
            signal.setitimer(signal.ITIMER_REAL, max(self._due - monotonic(), 1e-6), self._interval)
        self._handler = self._seen = None

    def _tick(self, number: int, frame: FrameType | None) -> None:
        ALARM.set()
        kernel = self._running()
        if self._due is not None and monotonic() >= self._due:
            self._due = monotonic() + self._interval if self._interval else None
            self._hand_over(number, frame)
        seen = None if kernel is None else (kernel, kernel.depth)
        if seen != self._seen:
            self._seen, self._since = seen, monotonic()
        elif kernel is not None and monotonic() - self._since >= STALL_S:
            kernel.interrupt(Inconclusive(_describe(kernel.current.name, frame)))
            raise RunEnded

    def _hand_over(self, number: int, frame: FrameType | None) -> None:
        """Call the handler that was there before; what it raises ends the exploration, not just a task."""
        handler: Callable[[int, FrameType | None], object] | Any = self._handler
        if not callable(handler):
            return
        kernel = self._running()
        WORLD.handing_over = True
        try:
            handler(number, frame)
        except BaseException as error:
            if kernel is None:
                raise
            kernel.interrupt(error)
            raise RunEnded from None
        finally:
            WORLD.handing_over = False


def _describe(task: str, frame: FrameType | None) -> str:
    while frame is not None and (is_ours(frame.f_code.co_filename) or is_stdlib(frame.f_code.co_filename)):
        frame = frame.f_back
    line = "" if frame is None else linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return (
        f"Task '{task}' has not come to a point for over {STALL_S:g} s of real time, at {locate(frame)}"
        f"{f' (`{line}`)' if line else ''}: it blocks on something that is not under control, or computes for long. "
        "Wait by what threading, queue, concurrent.futures, asyncio and time make for the scenario, or its runtime."
    )
