"""The event loops of one run, and what they keep in the OS thread, which all tasks of the run share."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import sys
import weakref
from asyncio import events
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.loops.oracle import describe_leftovers
from omni_ipc.testbed.tasks import RunEnded, Task

if TYPE_CHECKING:
    from omni_ipc.testbed.loops.loop import ControlledLoop

_registries: weakref.WeakKeyDictionary[Kernel, Loops] = weakref.WeakKeyDictionary()


class Loops:
    """All loops of a run.

    The running loop and the hooks for asynchronous generators belong to the OS thread. The one is changed whenever
    another task goes on; the others ask for the running loop. The garbage collector would finish what is left in cycles
    at moments of its own, so it waits for the end of the run.

    Attributes:
        all: loops by age.
        numbers: of futures and tasks.
        chosen: by index of the task, the loop that it has set as its own.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.all: list[ControlledLoop] = []
        self.numbers = itertools.count(1)
        self.task_numbers = itertools.count(1)
        self.future_numbers = itertools.count(1)
        self.timer_numbers = itertools.count(1)
        self.chosen: dict[int, asyncio.AbstractEventLoop | None] = {}
        self._running: dict[int, Any] = {kernel.outside.index: events._get_running_loop()}
        self._touched: dict[int, int] = {}  # by index of the task, what each of its steps may use
        self._generators: dict[int, ControlledLoop] = {}
        self._hooks = sys.get_asyncgen_hooks()
        self._collects = gc.isenabled()
        gc.disable()
        sys.set_asyncgen_hooks(self._begin_generator, self._end_generator)
        kernel.follow(self._resume)
        self._next_task = kernel.next_task
        kernel.next_task = self._choose  # type: ignore[method-assign]
        kernel.closers.append(self._close)

    @staticmethod
    def of(kernel: Kernel) -> Loops:
        """Return the loops of a run; there may be none yet."""
        if kernel not in _registries:
            _registries[kernel] = Loops(kernel)
        return _registries[kernel]

    def begin(self, loop: ControlledLoop) -> None:
        """Let the current task run a loop: from now on, each of its steps may use what is in the loop."""
        kernel = self._kernel
        kernel.writes |= loop.subject.bit
        self._running[kernel.current.index] = loop
        self._touched[kernel.current.index] = loop.subject.bit
        events._set_running_loop(loop)

    def end(self) -> None:
        """Let the current task run no loop any more."""
        index = self._kernel.current.index
        del self._running[index], self._touched[index]
        events._set_running_loop(None)

    def running(self) -> ControlledLoop | None:
        """Return the loop that the current task runs."""
        return self._running.get(self._kernel.current.index)

    def _resume(self, task: Task) -> None:
        events._set_running_loop(self._running.get(task.index))

    def _choose(self) -> Task:
        chosen = self._next_task()
        self._kernel.writes |= self._touched.get(chosen.index, 0)
        return chosen

    def _begin_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        loop = self.running()
        if loop is not None:
            self._generators[id(generator)] = loop
            loop.adopt(generator)

    def _end_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        loop = self._generators.pop(id(generator), None)
        if loop is not None:
            loop.bury(generator)

    def _close(self) -> None:
        """End all loops, once all tasks of the run have ended."""
        kernel = self._kernel
        events._set_running_loop(self._running[kernel.outside.index])
        if kernel.failure is None and kernel.escape is None and not kernel.pruned:
            loops = [loop for loop in self.all if loop.get_exception_handler() is None]
            kernel.failure = describe_leftovers(
                [task for loop in loops for task in loop.pending_tasks()],
                [future for loop in loops for future in loop.unretrieved()],
            )
        for loop in self.all:
            loop.abandon()
        del _registries[kernel], kernel.next_task, self._next_task
        sys.set_asyncgen_hooks(*self._hooks)
        if self._collects:
            gc.enable()


def pending_tasks(kernel: Kernel) -> list[asyncio.Task[Any]]:
    """List the asyncio tasks of a run that have not ended, by age; for faults that cancel them."""
    registry = _registries.get(kernel)
    return [] if registry is None else [task for loop in registry.all for task in loop.pending_tasks()]


def discard(coroutine: Any) -> None:
    """End a coroutine of a run that is over, so that nobody misses it."""
    if asyncio.iscoroutine(coroutine):
        with contextlib.suppress(RunEnded, Exception):
            coroutine.close()


def forget(ended: asyncio.Future[Any]) -> None:
    """Let go of the frames that were unwound when the run ended; they are in a circle with their loop."""
    try:
        asyncio.Future.result(ended)  # until it is taken, the future keeps them, too
    except RunEnded as error:
        error.__traceback__ = None
