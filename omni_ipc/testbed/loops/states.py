"""What the state of a run consists of in its loops, for the oracle that looks for a state that comes back."""

from __future__ import annotations

import asyncio
import contextvars
from types import MethodType
from typing import Any

from omni_ipc.testbed.loops.futures import LoopFuture, LoopTask
from omni_ipc.testbed.loops.loop import ControlledLoop
from omni_ipc.testbed.oracles.states import WHOLE


def _of_loop(loop: Any) -> list[object]:
    timers = [(when, timer) for when, _, timer, _ in sorted(loop.timers)] + [(0.0, timer) for timer in loop.due]
    rules = [loop._default_executor, loop._exception_handler, loop._task_factory]
    return [loop.home, loop.is_woken(), loop._stopping, loop._closed, list(loop._ready), timers, *rules]


def _of_future(future: Any) -> list[object]:
    return [future._state, future._result, future._exception, list(future._callbacks or ())]


def _of_task(task: Any) -> list[object]:
    return [*_of_future(task), task.get_coro(), task._fut_waiter, task._must_cancel, task.cancelling()]


def _of_handle(handle: Any) -> list[object]:
    callback = handle._callback
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task) and not isinstance(callback, MethodType):  # C code that lets the task go on
        callback = owner
    return [callback, handle._args, handle._cancelled, handle._context]


def _of_context(context: contextvars.Context) -> list[object]:
    return [part for variable, value in context.items() for part in (id(variable), value)]


def _of_nothing(_: object) -> list[object]:
    return []


class _NoLoop:
    def get_debug(self) -> bool:
        return False


_AWAITING: type = type(iter(asyncio.Future(loop=_NoLoop())))  # type: ignore[arg-type]  # its task tells what it awaits

WHOLE.update(
    {
        ControlledLoop: _of_loop,
        LoopTask: _of_task,
        LoopFuture: _of_future,
        asyncio.Handle: _of_handle,
        contextvars.Context: _of_context,
        _AWAITING: _of_nothing,
    }
)
