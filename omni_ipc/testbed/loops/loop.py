"""The event loop of asyncio under control: its callbacks are steps, its selector waits at a point, its time is virtual.

    thread A                                  thread B
    run_forever ─► loop.run Task-1 main       call_soon_threadsafe(f) ──► appended, and the loop is woken
                ─► loop.run Task-2 consume    call_soon(f) ─────────────► appended, and nobody is woken
                ─► loop.select ◄ woken, or the next timer is due

Callbacks of one loop run in the order in which they were made ready: asyncio promises it, so it is no choice. Choices
are what other threads and loops do in between, which is before each callback, while the loop waits, and within
callbacks at whatever else is under control: also before a callback makes another one ready, if it has done anything
before, because others may post in between.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import constants
from collections.abc import AsyncGenerator, Callable
from contextvars import Context
from typing import Any
from weakref import WeakKeyDictionary

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.loops.cancelling import CancellableFuture, CancellableTask, is_made_by_the_code
from omni_ipc.testbed.loops.futures import LoopFuture, LoopTask, Owned
from omni_ipc.testbed.loops.generators import Begun
from omni_ipc.testbed.loops.oracle import describe_context
from omni_ipc.testbed.loops.registry import discard, forget
from omni_ipc.testbed.loops.subject import post, queue
from omni_ipc.testbed.loops.turning import TurningLoop
from omni_ipc.testbed.loops.weak import WeakList
from omni_ipc.testbed.operations import Operation, Reading, nothing
from omni_ipc.testbed.standard import clock
from omni_ipc.testbed.tasks import RunEnded
from omni_ipc.testbed.where import locate_here

_JOINING_S = getattr(constants, "THREAD_JOIN_TIMEOUT", None)


class ControlledLoop(TurningLoop):
    """One loop of a run."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.loops.all.append(self)
        self._made: WeakList[asyncio.Future[Any]] = WeakList()  # tasks, and futures that failed
        self._sent: WeakKeyDictionary[Any, str | None] = WeakKeyDictionary()  # the line that has sent a callback
        self._asyncgens = Begun(kernel)
        self._posting = post(self.subject)
        self._queueing = queue(self.subject)

    def __del__(self) -> None:
        """Say nothing: what a run has not closed is closed at its end."""

    def __repr__(self) -> str:
        state = "closed" if self._closed else "idle" if self.home is None else f"run by '{self.home.name}'"
        return f"<{self.subject.name} {state}>"

    # What asyncio calls, and users may

    def run_until_complete(self, future: Any) -> Any:
        if self.kernel.over:
            discard(future)
            raise RunEnded
        return super().run_until_complete(future)

    def stop(self) -> None:
        if self.kernel.current is not self.home:
            self.intrude("stop")
        super().stop()

    def close(self) -> None:
        kernel, subject = self.kernel, self.subject
        if not self._closed and len(kernel.living) > 1:
            kernel.perform(Operation("loop.close", subject, nothing))
        kernel.writes |= subject.life | subject.queue
        super().close()
        self.timers.clear()
        self.due.clear()

    def is_running(self) -> bool:
        self._look("is_running")
        return self.home is not None

    def is_closed(self) -> bool:
        self._look("is_closed")
        return bool(self._closed)

    def time(self) -> float:
        return clock.read(self.kernel)

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        kernel = self.kernel
        if kernel.current is not self.home:
            self.intrude("call_soon")
        elif (kernel.reads | kernel.writes) & ~self.subject.bit and len(kernel.living) > 1 and not kernel.over:
            kernel.perform(self._queueing)  # others may post between what the step has done and this
        kernel.writes |= self.subject.queue
        if args and isinstance(args[0], Owned) and not self.in_timer and not asyncio.Future.cancelled(args[0]):
            kernel.writes |= self.subject.news  # a future is done, and somebody will be told
        if self._debug or self._closed:
            handle: asyncio.Handle = super().call_soon(callback, *args, context=context)
        else:
            handle = asyncio.Handle(callback, args, self, context)
            self._ready.append(handle)
        self._note_sent(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if self.kernel.current is not self.home:
            self.kernel.perform(self._posting)
        return self._post(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if self.kernel.current is not self.home:
            self.intrude("call_at")
        timer: asyncio.TimerHandle = super().call_at(when, callback, *args, context=context)
        self._scheduled.clear()
        heapq.heappush(self.timers, (timer.when(), next(self.loops.numbers), timer, self.kernel.clock.now))
        return timer

    def create_future(self) -> LoopFuture:
        number = next(self.loops.numbers)
        future = LoopFuture(loop=self, number=number)
        if is_made_by_the_code():  # what asyncio makes for its locks and timers, nobody else has
            name = f"Future-{next(self.loops.future_numbers)}"
            self.kernel.announce(CancellableFuture(future, self, number, name))
        return future

    def create_task(self, coro: Any, *, name: object = None, **options: Any) -> asyncio.Task[Any]:
        self._check_closed()
        if name is None:
            name = f"Task-{next(self.loops.task_numbers)}"
        number = next(self.loops.numbers)
        self.kernel.beside += bool(self.pending_tasks())
        if self._task_factory is None:
            task: asyncio.Task[Any] = LoopTask(coro, loop=self, number=number, name=name, **options)
        else:
            if self.kernel.running is not None:
                self.kernel.running(coro)  # it may run at once, as those of `asyncio.eager_task_factory` do
            task = super().create_task(coro, name=name, **options)
        self._made.add(task)
        self.kernel.announce(CancellableTask(task, self, number, task.get_name()))
        return task

    def run_next(self, callback: Callable[..., object]) -> None:
        """Let a callback come before all that are ready, and wake the loop."""
        self._ready.appendleft(asyncio.Handle(callback, (), self))
        self._write_to_self()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.kernel.over:
            super().call_exception_handler(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        if self._exception_handler is not None:  # the scenario has one, which leaves this to the default one
            super().default_exception_handler(context)
        else:
            kernel = self.kernel
            sent = self._sent.get(context["handle"]) if "handle" in context else None
            kernel.failure = kernel.failure or describe_context(context, kernel.current.name, sent)
            kernel.halt()

    def shutdown_default_executor(self, timeout: float | None = None) -> Any:
        """Wait for the executor; the time after which ``asyncio.run()`` would warn and go on does not pass here."""
        if timeout == _JOINING_S:
            timeout = None
        limit = () if timeout is None else (timeout,)
        return super().shutdown_default_executor(*limit)

    # What the rest of the room calls

    def intrude(self, action: str, *, reading: bool = False) -> None:
        """Let another task than the one that runs the loop use what is in it, in a step of its own.

        Points: before the use, unless nobody else lives: a thread that was started may be about to run an idle loop.
        """
        kernel = self.kernel
        if len(kernel.living) == 1:
            kernel.writes |= self.subject.bit
        else:
            kernel.perform((Reading if reading else Operation)(f"asyncio.{action}", self.subject, nothing))

    def note_failed(self, future: asyncio.Future[Any]) -> None:
        """Remember a future, so that it is seen if nobody takes its exception."""
        self._made.add(future)

    def pending_tasks(self) -> list[asyncio.Task[Any]]:
        """List the tasks that have not ended, by age."""
        return [made for made in self._made if isinstance(made, asyncio.Task) and not asyncio.Future.done(made)]

    def unretrieved(self) -> list[asyncio.Future[Any]]:
        """List the futures and tasks whose exception nobody has taken."""
        return [made for made in self._made if getattr(made, "_log_traceback", False)]

    def adopt(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Remember an asynchronous generator that has begun."""
        self._asyncgen_firstiter_hook(generator)

    def bury(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Close an asynchronous generator that nobody refers to any more; no point, as this may come in any step."""
        if not self._closed and not self.kernel.over:
            self._post(self.create_task, generator.aclose())

    def abandon(self) -> None:
        """End what is left when the run is over, so that nobody hears of it, and none of it lives on in a later run."""
        for task in self.pending_tasks():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            discard(task.get_coro())
        for made in self._made:
            if isinstance(made, Owned) and isinstance(made._exception, RunEnded):  # of others' kinds nothing is known
                forget(made)
        self._default_executor = None
        self._closed = True
        self._ready.clear()
        self.timers.clear()
        self.due.clear()

    def _post(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        self.kernel.writes |= self.subject.queue
        handle: asyncio.Handle = super().call_soon_threadsafe(callback, *args, context=context)
        self._note_sent(handle)
        return handle

    def _note_sent(self, handle: asyncio.Handle) -> None:
        """Remember who has sent a callback, if somebody looks on: where it raises, nobody of them is on the stack."""
        if self.kernel.observer is not None:
            self._sent[handle] = locate_here()

    def _look(self, what: str) -> None:
        """Let a task read whether the loop runs or is closed.

        Points: before that, unless the task runs it, or nobody else lives.
        """
        kernel = self.kernel
        if kernel.current is self.home or len(kernel.living) == 1:
            kernel.reads |= self.subject.life
        else:
            operation = Reading(f"loop.{what}", self.subject, nothing)
            operation.reads = self.subject.life
            kernel.perform(operation)
