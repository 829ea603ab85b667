"""What an event loop would only log is a failure of the run, unless the scenario has its own exception handler."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

from omni_ipc.records import Failure, FailureKind
from omni_ipc.testbed.brief import say_error
from omni_ipc.testbed.loops.naming import handle_title, task_place, task_title
from omni_ipc.testbed.where import is_foundation, is_ours, locate_error

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_NEVER_RETRIEVED = "exception was never retrieved"


def describe_context(context: Mapping[str, Any], task: str, sent: str | None = None) -> Failure:
    """Describe what a loop told its exception handler.

    Args:
        task: that ran then.
        sent: the line that has sent the callback, if it was noted.
    """
    error: BaseException | None = context.get("exception")
    subject = context.get("task") or context.get("future")
    if error is None and isinstance(subject, asyncio.Task) and "destroyed" in context.get("message", ""):
        return _pending([subject], "was destroyed while it waited, and nobody can wake it any more", task)
    return Failure(
        kind=FailureKind.EXCEPTION,
        message=_ADDRESS.sub("", _message(error, _what(context, subject))),
        task=task,
        where=None if error is None else _place(error, sent),
        details=() if error is None else _lines(error),
    )


def describe_leftovers(pending: list[asyncio.Task[Any]], failed: Iterable[asyncio.Future[Any]]) -> Failure | None:
    """Describe what the loops of a run that has ended have left behind, if it is anything to complain of.

    Args:
        pending: tasks that have not ended.
        failed: futures and tasks with an exception that nobody has taken.
    """
    if pending:
        return _pending(pending, "was still waiting when all was over: nobody awaited or cancelled it", None)
    for future in failed:
        error = asyncio.Future.exception(future)
        return describe_context({"message": _NEVER_RETRIEVED, "exception": error, "future": future}, "main")
    return None


def _pending(tasks: list[asyncio.Task[Any]], why: str, running: str | None) -> Failure:
    places = [task_place(task) for task in tasks]
    titles = [f"{task_title(task)}{f' at {place}' if place else ''}" for task, place in zip(tasks, places, strict=True)]
    others = f"; so {'was' if len(titles) == 2 else 'were'} {', '.join(titles[1:])}" if len(titles) > 1 else ""
    return Failure(FailureKind.LEAK, f"{titles[0]} {why}{others}", running, places[0])


def _what(context: Mapping[str, Any], subject: object) -> str:
    message: str = context.get("message") or "unhandled exception in an event loop"
    handle = context.get("handle")
    if handle is not None:
        return f"in the callback {handle_title(handle)}"
    if _NEVER_RETRIEVED in message:
        return f"which nobody took from {task_title(subject) if isinstance(subject, asyncio.Task) else 'a future'}"
    return f"{message} ({task_title(subject)})" if isinstance(subject, asyncio.Task) else message


def _message(error: BaseException | None, what: str) -> str:
    """Tell the error first, as that of a task is told."""
    return what if error is None else f"{say_error(error)}, {what}"


def _place(error: BaseException, sent: str | None) -> str | None:
    """Name the line that raised; where none of the code under test did, the one that has sent what raised."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    is_seen = not all(map(is_foundation, files))
    return locate_error(error.__traceback__) if is_seen or sent is None else sent


def _lines(error: BaseException) -> tuple[str, ...]:
    shown = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_ours(frame.filename)]
    return tuple(line.rstrip() for line in traceback.format_list(shown))
