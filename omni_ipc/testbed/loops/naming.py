"""Names callbacks and asyncio's tasks for people, and tells where a suspended one waits."""

from __future__ import annotations

import asyncio
import functools
from types import FrameType, MethodType
from typing import Any

from omni_ipc.testbed.suspended import suspended
from omni_ipc.testbed.where import is_foundation, is_stdlib, locate


def task_title(task: asyncio.Task[Any]) -> str:
    """Name a task, and its coroutine, unless they are called the same: "Task-2 consume"."""
    coro: Any = task.get_coro()
    name = getattr(coro, "__qualname__", type(coro).__name__).rpartition("<locals>.")[2]
    return name if name == task.get_name() else f"{task.get_name()} {name}"


def handle_title(handle: asyncio.Handle) -> str:
    """Name what a handle will run: "Task-2 consume" if it lets a task go on, else the function."""
    callback: Any = handle._callback  # type: ignore[attr-defined]
    while isinstance(callback, functools.partial):
        callback = callback.func
    owner = getattr(callback, "__self__", None)
    if not isinstance(owner, asyncio.Task):
        return _callback_title(callback)
    return f"{task_title(owner)}: {callback.__name__}()" if isinstance(callback, MethodType) else task_title(owner)


def handle_place(handle: asyncio.Handle) -> str | None:
    """Name the line at which a handle will go on: where its task waits."""
    owner = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
    return task_place(owner) if isinstance(owner, asyncio.Task) else None


def _callback_title(callback: Any) -> str:
    """Name a function: "Queue.put_nowait"."""
    name: str = getattr(callback, "__qualname__", type(callback).__name__)
    return name.rpartition("<locals>.")[2].removeprefix("Loop").replace("Owned.", "Future.")


def task_wait(task: asyncio.Task[Any]) -> str:
    """Tell what a task waits for, and where: "Task-2 consume waits in Queue.get at app.py:12 in consume"."""
    awaited: Any = getattr(task, "_fut_waiter", None)
    what = f" for {task_title(awaited)}" if isinstance(awaited, asyncio.Task) else ""
    for frame in _suspended(task):
        if is_stdlib(frame.f_code.co_filename) and not frame.f_code.co_qualname.startswith("_"):
            what = f" in {frame.f_code.co_qualname}"
    place = task_place(task)
    return f"{task_title(task)} waits{what}{f' at {place}' if place else ''}"


def task_place(task: asyncio.Task[Any]) -> str | None:
    """Name the innermost line of the code under test at which a suspended task is."""
    frames = _suspended(task)
    own = [frame for frame in frames if not is_foundation(frame.f_code.co_filename)]
    return locate(own[-1]) if own else None


def _suspended(task: asyncio.Task[Any]) -> list[FrameType]:
    """Return the frames of a suspended coroutine and of those that it awaits, outermost first."""
    return [frame for _, frame in suspended(task.get_coro()) if frame is not None]
