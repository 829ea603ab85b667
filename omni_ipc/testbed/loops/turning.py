"""How a controlled loop turns: it runs what is ready, waits, and collects the timers that are due."""

from __future__ import annotations

import asyncio
import heapq
from asyncio import events
from collections import deque

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.loops.refusals import LoopBase
from omni_ipc.testbed.loops.registry import Loops
from omni_ipc.testbed.loops.subject import LoopSubject, RunCallback, Select, fire
from omni_ipc.testbed.operations import Operation, never, nothing
from omni_ipc.testbed.tasks import Task

_BUSY = 100
_MOST_APART = 4
_MOMENT_S = 1e-9
_RESOLUTION_S = 1e-9  # deadlines are sums of floats


class TurningLoop(LoopBase):  # type: ignore[misc]
    """The part of a loop that runs.

    A loop that has been busy for `_BUSY` turns on end lets all others go on before the next one, so that a coroutine
    which polls by ``sleep(0)`` gets what it polls for.

    Attributes:
        home: the task that runs it; None while nobody does.
        timers: by (time, number), with the handle and the moment at which it was set.
        due: timers that have fired, and whose callbacks the next turn makes ready.
        in_timer: a timer runs, and not what it made ready.
    """

    _ready: deque[asyncio.Handle]
    _stopping: bool

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.home: Task | None = None
        self.subject = LoopSubject(kernel, self)
        super().__init__()
        self.loops = Loops.of(kernel)
        self.timers: list[tuple[float, int, asyncio.TimerHandle, float]] = []
        self.due: list[asyncio.TimerHandle] = []
        self.in_timer = False
        self._woken = False
        self._busy = 0
        self._running = RunCallback(self.subject, self._ready)
        self._selecting = Select(self.subject, self.is_woken)
        self._firing = fire(self.subject)

    def run_forever(self) -> None:
        self._check_closed()
        self._check_running()
        self._begin()
        try:
            while True:
                self._run_once()
                if self._stopping:
                    break
        finally:
            self._end()

    def is_woken(self) -> bool:
        return self._woken

    def _begin(self) -> None:
        kernel = self.kernel
        if len(kernel.living) > 1:
            operation = Operation("loop.begin", self.subject, self._check_running)
            operation.writes |= self.subject.life
            kernel.perform(operation)
        kernel.writes |= self.subject.life
        self.home = kernel.current
        self._set_coroutine_origin_tracking(self._debug)
        self.loops.begin(self)

    def _end(self) -> None:
        """Let the loop rest, in the step of its last callback."""
        self.kernel.writes |= self.subject.life
        self._stopping = False
        self.home = None
        self._set_coroutine_origin_tracking(False)
        self.loops.end()

    def _run_once(self) -> None:
        """Run what is ready now, and not what becomes ready meanwhile."""
        kernel, ready = self.kernel, self._ready
        kernel.reads |= self.subject.queue
        if ready or self._stopping:
            self._rest()
        else:
            self._select()
        self._woken = False
        self._collect_due()
        for _ in range(len(ready)):
            if ready[0]._cancelled:
                ready.popleft()
                continue
            handle = kernel.perform(self._running)
            if not handle._cancelled:
                self.in_timer = type(handle) is asyncio.TimerHandle
                self._tell(handle)
                handle._run()
                self._tell(handle)
            del handle  # the frame of an exception refers to this one, and so would its task to itself; asyncio, too
        self.in_timer = False

    def _tell(self, handle: asyncio.Handle) -> None:
        """Tell which coroutine a callback lets go on, before and after it does so."""
        task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
        if self.kernel.running is not None and isinstance(task, asyncio.Task):
            self.kernel.running(task.get_coro())

    def _select(self) -> None:
        """Wait until the loop is woken, or its next timer is due."""
        timers = self.timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        limit = timers[0][0] - self.kernel.now() if timers else None
        if limit is None or limit > 0:
            self._busy = 0
            self.kernel.perform_within(self._selecting, limit)

    def _rest(self) -> None:
        """Once in a while, let all others go on, and time pass to the next deadline if they all wait."""
        self._busy += 1
        if self._busy > _BUSY:
            self._busy = 0
            if len(self.kernel.living) > 1:
                self.kernel.curtailed.add(f"loops that were busy for {_BUSY} turns on end let all others go on first")
            deadlines = [task.deadline for task in self.kernel.living if task.deadline is not None]
            deadlines += [timer[0] for timer in self.timers[:1]]
            limit = min(deadlines) - self.kernel.now() if deadlines else 0.0
            resting = Operation("loop.rest", self.subject, nothing, never, nothing)
            self.kernel.perform_within(resting, max(limit, _MOMENT_S))

    def _collect_due(self) -> None:
        """Make those callbacks ready whose time has come."""
        self.kernel.reads |= self.subject.due
        if self.timers:
            now = self.kernel.now() + _RESOLUTION_S
            found = []
            while self.timers and self.timers[0][0] <= now:
                _, _, timer, since = heapq.heappop(self.timers)
                timer._scheduled = False  # type: ignore[attr-defined]
                if not timer.cancelled():
                    found.append((since, timer))
            if len(found) > 1:
                self._fire_apart(found)
            else:
                self.due += [timer for _, timer in found]
        if self.due:
            self._ready += self.due
            self.due.clear()
            self.kernel.writes |= self.subject.queue

    def _fire_apart(self, found: list[tuple[float, asyncio.TimerHandle]]) -> None:
        """Let timers that are due at one moment fire in any order, and in one turn or several, as in real time.

        Those that were set at one moment keep their order: the one set first is always due first. Each that fires by
        itself makes four times as many schedules, so a crowd fires together.
        """
        kernel = self.kernel
        for since in dict.fromkeys(since for since, _ in found):
            timers = [timer for set_at, timer in found if set_at == since]
            task = kernel.launch(f"timer {next(self.loops.timer_numbers)}", self._fire_in_turn, (timers,))
            task.daemon, task.is_thread = True, False
            kernel.join(task)
            kernel.plumbing |= task.bit

    def _fire_in_turn(self, timers: list[asyncio.TimerHandle]) -> None:
        size = 1
        if len(timers) > _MOST_APART:
            size = len(timers)
            self.kernel.curtailed.add(f"over {_MOST_APART} timers that were set at one moment fired in one turn")
        for first in range(0, len(timers), size):
            self.kernel.perform(self._firing)
            self.due += timers[first : first + size]
            self._woken = True

    def _write_to_self(self) -> None:
        self._woken = True

    def _check_running(self) -> None:
        if self.home is not None:
            self.kernel.reads |= self.subject.life
            raise RuntimeError("This event loop is already running")
        if events._get_running_loop() is not None:
            raise RuntimeError("Cannot run the event loop while another loop is running")

    def _check_thread(self) -> None:
        if self.home is not None and self.kernel.current is not self.home:
            raise RuntimeError("Non-thread-safe operation invoked on an event loop other than the current one")
