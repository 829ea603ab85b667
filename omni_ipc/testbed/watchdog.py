"""The watchdog: ends a step that blocks for real, by a signal that interrupts it; what none does is the alarm's.

A thread looks from time to time whether steps are still being taken. It sends a signal only once a step counts as
blocked: each one could cut short a call of C, which would then pass for done.
"""

from __future__ import annotations

import linecache
import signal
import sys
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from threading import get_ident
from types import FrameType
from typing import Any

from omni_ipc.errors import Inconclusive
from omni_ipc.testbed.alarm import ALARM
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.world import WORLD
from omni_ipc.testbed.tasks import RunEnded
from omni_ipc.testbed.where import is_foundation, locate

STALL_S = 5.0  # after which a step counts as blocked
_LOOKS = 10  # in that time, all of them in vain
_SIGNAL = signal.SIGURG  # ignored by default: one that comes late harms nobody


class Watchdog:
    """Watches the steps of the main thread, while an exploration runs there.

    It borrows a signal that hardly anybody uses, and SIGALRM, so that what a test runner's handler raises when the time
    of a test is over ends the exploration, and not just the task that happens to run. It gives both back.

    Args:
        running: gives the run of which a task runs now, in this thread.
    """

    def __init__(self, running: Callable[[], Kernel | None]) -> None:
        self._running = running
        self._handlers: dict[signal.Signals, Any] = {}  # of before
        self._stalled: tuple[int, int] | None = None
        self._late = False  # somebody else's signal came between two runs
        self._told = self._gone = allocate_lock()  # held until the thread is to end, and until it has

    def start(self) -> None:
        """Begin to watch; only in the main thread."""
        for number, answer in ((signal.SIGALRM, self._hand_over), (_SIGNAL, self._end_stalled)):
            self._handlers[number] = signal.getsignal(number)
            signal.signal(number, answer)
        self._told, self._gone = allocate_lock(), allocate_lock()
        self._told.acquire()
        start_new_thread(self._watch, (get_ident(),))
        self._gone.acquire()  # which the thread does not give back before it is told to end
        ALARM.set()

    def stop(self) -> None:
        """End the thread, and give the signals back."""
        if not self._handlers:
            return
        self._told.release()
        try:
            self._gone.acquire()
        finally:
            ALARM.switch_off()
            alarmed = self._handlers[signal.SIGALRM]
            while self._handlers:
                signal.signal(*self._handlers.popitem())
        if self._late:
            self._late = False
            alarmed(signal.SIGALRM, sys._getframe())

    def answer_late(self) -> None:
        """Answer somebody else's signal that came between two runs, where nothing is half done."""
        if self._late:
            self._late = False
            self._answer(signal.SIGALRM, sys._getframe())

    def _watch(self, watched: int) -> None:
        """Look until told to end; it lets go of the run in between.

        Looks are counted, and not seconds: while the whole process is stopped, or starved, nobody looks.
        """
        seen, looks = None, 0
        while not self._told.acquire(timeout=STALL_S / _LOOKS):
            now = _where()
            if now != seen or (now is None and not self._late):
                seen, looks = now, 0
                ALARM.set()
            elif (looks := looks + 1) >= _LOOKS:
                self._stalled = now
                signal.pthread_kill(watched, _SIGNAL)
        self._gone.release()

    def _end_stalled(self, number: int, frame: FrameType | None) -> None:
        ALARM.set()
        if self._stalled != _where():
            return
        kernel = self._running()
        if kernel is None:
            self.answer_late()  # no run has begun for a while
        else:
            kernel.interrupt(Inconclusive(_describe(kernel.current.name, frame)))
            raise RunEnded

    def _hand_over(self, number: int, frame: FrameType | None) -> None:
        """Answer at once in a run, which ends at its next point; between two runs, before the next one."""
        if not callable(self._handlers[signal.SIGALRM]):
            return
        if WORLD.innermost() is None:
            self._late = True
        else:
            self._answer(number, frame)

    def _answer(self, number: int, frame: FrameType | None) -> None:
        """Call the handler that was there before; what it raises ends the exploration, not just a task."""
        kernel = self._running()
        WORLD.handing_over = True
        try:
            self._handlers[signal.SIGALRM](number, frame)
        except BaseException as error:
            if kernel is None:
                raise
            kernel.interrupt(error)  # nothing is raised here, in the middle of whatever: a blocked step is ended later
        finally:
            WORLD.handing_over = False


def _where() -> tuple[int, int] | None:
    """Tell one step from another one, in any thread."""
    kernel = WORLD.innermost()
    return None if kernel is None else (id(kernel), kernel.depth)


def _describe(task: str, frame: FrameType | None) -> str:
    while frame is not None and is_foundation(frame.f_code.co_filename):
        frame = frame.f_back
    line = "" if frame is None else linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return (
        f"Task '{task}' has not come to a point for over {STALL_S:g} s of real time, at {locate(frame)}"
        f"{f' (`{line}`)' if line else ''}: it blocks on something that is not under control, or computes for long. "
        "Wait by what threading, queue, concurrent.futures, asyncio and time make for the scenario, or its runtime."
    )
