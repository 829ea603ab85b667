"""asyncio's tasks and futures as something that a fault may cancel: at any boundary of their loop's callbacks."""

from __future__ import annotations

import asyncio
import inspect
import sys
import weakref
from asyncio import base_events
from collections.abc import Callable, Hashable
from types import FrameType
from typing import TYPE_CHECKING, Any

from omni_ipc.testbed.where import is_ours, is_stdlib

if TYPE_CHECKING:
    from omni_ipc.testbed.loops.loop import ControlledLoop


class CancellableFuture:
    """One future of a loop.

    Args:
        number: it is the how-many-eth task or future of its run.
        name: in traces.
    """

    def __init__(self, made: asyncio.Future[Any], loop: ControlledLoop, number: int, name: str) -> None:
        self.identity: Hashable = (loop.subject.key, number)
        self._made = weakref.ref(made)
        self._loop = loop
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def bit(self) -> int:
        subject = self._loop.subject
        return subject.bit | subject.queue

    def can_be_cancelled(self, *, by_name: bool) -> bool:
        made = self._made()
        return made is not None and self._loop.home is not None and not asyncio.Future.done(made)

    def cancel_at_once(self) -> Callable[[], object] | None:
        """Let the cancellation be the next callback of the loop."""
        made = self._made()
        if made is not None:
            self._loop.run_next(made.cancel)
        return None


class CancellableTask(CancellableFuture):
    """One task of a loop; what the loop was told to run until its end is spared, unless it is meant by its name."""

    @property
    def name(self) -> str:
        """What it is called now."""
        task: Any = self._made()
        return "" if task is None else str(task.get_name())

    def can_be_cancelled(self, *, by_name: bool) -> bool:
        task: Any = self._made()
        if not super().can_be_cancelled(by_name=by_name):
            return False
        return not _is_top(task) or (by_name and _is_under_way(task))


def is_made_by_the_code() -> bool:
    """Tell whether what calls the loop is the code under test, and not asyncio on its behalf."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and not is_stdlib(frame.f_code.co_filename)


def _is_top(task: asyncio.Task[Any]) -> bool:
    callbacks = getattr(task, "_callbacks", None) or ()
    return any(callback is base_events._run_until_complete_cb for callback, _ in callbacks)  # type: ignore[attr-defined]


def _is_under_way(task: asyncio.Task[Any]) -> bool:
    """Tell whether code under test can notice: it has begun, and is not what asyncio closes its loop down with."""
    coro: Any = task.get_coro()
    if not inspect.iscoroutine(coro):
        return True
    return inspect.getcoroutinestate(coro) != inspect.CORO_CREATED and not is_stdlib(coro.cr_code.co_filename)
