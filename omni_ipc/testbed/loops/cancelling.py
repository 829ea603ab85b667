"""asyncio tasks as something that a fault may cancel: at any boundary of their loop's callbacks."""

from __future__ import annotations

import asyncio
import weakref
from asyncio import base_events
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omni_ipc.testbed.loops.loop import ControlledLoop


class CancellableTask:
    """One task of a loop; what the loop was told to run until its end is spared.

    Args:
        number: it is the how-many-eth task or future of its run.
    """

    def __init__(self, task: asyncio.Task[Any], loop: ControlledLoop, number: int) -> None:
        self.identity: Hashable = (loop.subject.key, number)
        self._task = weakref.ref(task)
        self._loop = loop

    @property
    def name(self) -> str:
        """What it is called now: asyncio names some tasks only after it has made them."""
        task = self._task()
        return "" if task is None else task.get_name()

    @property
    def bit(self) -> int:
        subject = self._loop.subject
        return subject.bit | subject.queue

    def can_be_cancelled(self) -> bool:
        task = self._task()
        return task is not None and self._loop.home is not None and not asyncio.Future.done(task) and not _is_top(task)

    def cancel_at_once(self) -> Callable[[], object] | None:
        """Let the cancellation be the next callback of the loop."""
        task = self._task()
        if task is not None:
            self._loop.run_next(task.cancel)
        return None


def _is_top(task: asyncio.Task[Any]) -> bool:
    callbacks = getattr(task, "_callbacks", None) or ()
    return any(callback is base_events._run_until_complete_cb for callback, _ in callbacks)  # type: ignore[attr-defined]
