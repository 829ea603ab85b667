"""What rewritten code calls where it awaits: a coroutine that event loops of several threads await has a state.

Who awaits one that nobody has awaited runs it; else an error says that it runs, waits, or has ended. It begins, goes on
after a wait, comes to the next one and ends where its own code tells so, at points; and where a loop lets it go on, or
wait again, the loop tells that of the step in progress.

Only coroutines of functions of which two tasks have met one are followed: programs with event loops are full of others.
"""

from __future__ import annotations

import sys
from types import CoroutineType, FrameType, GeneratorType
from typing import Any

from omni_ipc.testbed.instrument.generators import code_of, run_name
from omni_ipc.testbed.instrument.noting import Unkept
from omni_ipc.testbed.instrument.points import Points
from omni_ipc.testbed.instrument.sites import RUN_BY_LOOP, SITES
from omni_ipc.testbed.instrument.tables import CALLERS
from omni_ipc.testbed.instrument.touching import Touching
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.suspended import suspended


class Awaiting(Touching):
    """The hooks for coroutines, and for generators that are awaited as they are."""

    def begin(self, kernel: Kernel, points: Points, marked: bytearray) -> None:
        super().begin(kernel, points, marked)
        kernel.running = self._run_by_loop

    def touch_awaited(self, site: int, value: Any) -> Any:
        """Announce that something is about to be awaited: by coroutines that run up to here, and may wait then."""
        if self._company is not None and self._points is not None:
            is_run = type(value) in (CoroutineType, GeneratorType)
            if is_run:
                self._meet(value)
            if self._points.followed:
                own = [value] if is_run and self._is_followed(value) else []
                running = self._running_in(sys._getframe(1))
                self._together(self._company, lambda: [(site, part) for part in (*own, *running)])
        return value

    def _pass(self, site: int, function: Any, arguments: tuple[Any, ...]) -> None:
        """Announce the call of a function; of a library's, that it may await the coroutines that it is given."""
        if self._company is not None and self._points is not None and SITES[site].name not in CALLERS:
            for argument in arguments:
                if type(argument) is CoroutineType and not self._points.effects.knows(function):
                    self.touch_awaited(site, argument)
        super()._pass(site, function, arguments)

    def touch_running(self, site: int, value: Any = None) -> Any:
        """Announce that a coroutine runs, and so do those that await it: it has begun, goes on, or ends.

        Args:
            value: what it has awaited.
        """
        if self._company is not None and self._points is not None and self._points.followed:
            running = self._running_in(sys._getframe(1))
            self._together(self._company, lambda: [(site, part) for part in running])
        return value

    def _is_followed(self, value: object) -> bool:
        assert self._points is not None
        return bool(self._points.followed) and run_name(code_of(value)) in self._points.followed

    def _running_in(self, frame: FrameType | None) -> list[object]:
        """Give what is followed of all that a frame, and those that have called it, are runs of."""
        found: list[object] = []
        if self._points is None or not self._points.followed:
            return found
        while frame is not None:
            running = self.generators.of(frame)
            if running is not frame and self._is_followed(running):
                found.append(running)
            frame = frame.f_back
        return found

    def _run_by_loop(self, coroutine: object) -> None:
        """Take note that the step in progress lets a coroutine and what it awaits go on, or has done so."""
        kernel, points = self._company, self._points
        if kernel is None or points is None:
            return
        self._meet(coroutine)
        for value, _ in suspended(coroutine) if points.followed else ():
            if self._is_followed(value):
                if kernel.depth != self._depth or kernel.current is not self._task:
                    self._open(kernel)
                self._notes[RUN_BY_LOOP, self.generators.key_of(value)] = Unkept(type(value))
                points.add(kernel, RUN_BY_LOOP, value)
