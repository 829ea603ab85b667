"""What the steps of an event loop are about, and what they touch."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.loops.naming import handle_place, handle_title, task_place, task_wait
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Operation, nothing

if TYPE_CHECKING:
    from omni_ipc.testbed.loops.turning import TurningLoop

_MOST_TOLD = 4


class LoopSubject(Controlled):
    """A loop in traces, and the bits of what is in it.

    Its own bit stands for all that only its own callbacks may touch: futures, tasks, timers, asyncio's locks and
    queues. Each callback writes it, so that what another task does there out of turn conflicts with all.

    Attributes:
        due: the timers that have fired since the loop's last turn.
        queue: the end of the queue of ready callbacks; who appends writes it, who looks whether there are any reads it.
        life: whether the loop runs, and whether it is closed.
        news: written where a callback changes something for good, and does not only let time pass.
    """

    kind = "loop"

    def __init__(self, kernel: Kernel, loop: TurningLoop) -> None:
        super().__init__(kernel)
        self._loop = loop
        parts = [Part(self, part) for part in ("queue", "life", "news", "due")]
        self.queue, self.life, self.news, self.due = (part.bit for part in parts)
        kernel.plumbing |= self.bit | self.queue | self.life | self.due
        if kernel.observer is not None:
            for part in (self, *parts):
                kernel.observer.meet(part)

    @property
    def key(self) -> tuple[int, int]:
        """Return what names the loop in every schedule."""
        return self._maker.key, self._number

    def pending_tasks(self) -> list[asyncio.Task[Any]]:
        """List the tasks of the loop that have not ended, by age."""
        tasks: list[asyncio.Task[Any]] = self._loop.pending_tasks()
        return tasks

    def blocked_on(self) -> str:
        tasks = self.pending_tasks()
        if not tasks:
            return f"something to do in {self.name}"
        told = [task_wait(task) for task in tasks[:_MOST_TOLD]]
        told += [f"{len(tasks) - _MOST_TOLD} more wait"] if len(tasks) > _MOST_TOLD else []
        return f"{self.name}, where {', '.join(told)}"


class Part(Controlled):
    """A part of a loop with an identity of its own."""

    kind = "loop"

    def __init__(self, loop: LoopSubject, part: str) -> None:
        self._loop = loop
        self._part = part
        self.bit = loop.kernel.identities[*loop.key, part]

    @property
    def name(self) -> str:
        return f"{self._loop.name}.{self._part}"


class RunCallback(Operation):
    """Takes the callback that was made ready first; one object serves all steps of a loop."""

    __slots__ = ("_ready",)

    def __init__(self, subject: LoopSubject, ready: deque[asyncio.Handle]) -> None:
        super().__init__("loop.run", subject, ready.popleft)
        self._ready = ready

    def fields(self) -> dict[str, Field]:
        fields = super().fields()
        if self._ready:
            fields["callback"] = handle_title(self._ready[0])
        return fields

    def where(self) -> str | None:
        return handle_place(self._ready[0]) if self._ready else None


class Select(Operation):
    """Waits until the loop is woken, or a timer is due."""

    __slots__ = ("_subject",)

    def __init__(self, subject: LoopSubject, is_woken: Callable[[], bool]) -> None:
        super().__init__("loop.select", subject, nothing, is_woken, nothing)
        self.reads |= subject.queue | subject.due
        self._subject = subject

    def where(self) -> str | None:
        places = (task_place(task) for task in self._subject.pending_tasks())
        return next((place for place in places if place is not None), None)


def post(subject: LoopSubject) -> Operation:
    """Return the operation that makes a callback ready from another thread, as it should be done."""
    operation = Operation("loop.call_soon_threadsafe", subject, nothing)
    operation.reads, operation.writes = subject.life, subject.queue | subject.news
    return operation


def queue(subject: LoopSubject) -> Operation:
    """Return the operation that makes a callback ready in the task that runs the loop."""
    operation = Operation("loop.call_soon", subject, nothing)
    operation.writes = subject.queue
    return operation


def fire(subject: LoopSubject) -> Operation:
    """Return the operation that lets a timer fire apart from others that are due."""
    operation = Operation("loop.fire", subject, nothing)
    operation.writes = subject.due
    return operation
