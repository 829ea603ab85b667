"""Methods of classes that are written in C: real locks and queues are told, and the date is the virtual clock's.

Such a class refuses new attributes, and what code under test has made or bound of it before cannot be found. So the
method is exchanged in the dictionary of the class, and the interpreter is told that the class has changed. CPython
alone can do that; elsewhere these methods are left alone, and a real lock is only seen when it blocks.
"""

from __future__ import annotations

import _queue
import _thread
import contextvars
import ctypes
import datetime
import dis
import functools
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import PurePath
from types import FrameType
from typing import Any

from omni_ipc.errors import Inconclusive
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard import clock, contexts, life
from omni_ipc.testbed.standard.world import asks, running
from omni_ipc.testbed.tasks import RunEnded
from omni_ipc.testbed.where import is_stdlib, locate

Undo = Callable[[], object]
Method = Callable[..., Any]

_LOCKS: tuple[type, ...] = (_thread.LockType, _thread.RLock)
_LOCKING = {"threading.py", "queue.py", "concurrent", "functools.py"}  # use locks for those who use them
_REAL: tuple[tuple[type, str, str], ...] = (
    (_thread.LockType, "a real lock", "acquire acquire_lock __enter__ release release_lock locked locked_lock"),
    (_thread.RLock, "a real lock", "acquire __enter__ release"),
    (_queue.SimpleQueue, "a real queue.SimpleQueue", "put put_nowait get get_nowait empty qsize"),
)


def patch() -> Iterator[Undo]:
    """Exchange the methods; each item that is given puts one back."""
    if sys.implementation.name != "cpython":
        return
    for kind, title, names in _REAL:
        for name in names.split():
            if name in vars(kind):
                yield exchange(kind, name, functools.partial(_telling, title=title))
    yield exchange(contextvars.Context, "run", contexts.Run)
    for name in ("set", "reset"):
        yield exchange(contextvars.ContextVar, name, contexts.change)
    for name, replacement in {"now": _now, "utcnow": _utcnow}.items():
        yield exchange(datetime.datetime, name, functools.partial(_dated, replacement=replacement))
    yield exchange(datetime.date, "today", functools.partial(_dated, replacement=_today))


def exchange(kind: type, name: str, by: Callable[[Any], Any]) -> Undo:
    """Exchange a method of a class that is written in C, and return what puts it back."""
    members = gc.get_referents(vars(kind))[0]
    original = members[name]
    _put(kind, members, name, by(original))
    return functools.partial(_put, kind, members, name, original)


def _put(kind: type, members: dict[str, Any], name: str, member: Any) -> None:
    members[name] = member
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _telling(original: Method, title: str, lock_of: Callable[[Any], Any] | None = None) -> Method:
    @functools.wraps(original)
    def telling(self: Any, *args: Any, **options: Any) -> Any:
        kernel = running()
        if kernel is not None and not kernel.over and (lock_of is None or type(lock_of(self)) in _LOCKS):
            frame = sys._getframe(1)
            if _calls(frame, original.__name__) and (user := _user(frame)) is not None:
                _tell(kernel, title, user)
        return original(self, *args, **options)

    return telling


def tell(title: str) -> Callable[[Method], Method]:
    """Let a method tell that its object is not under control."""
    return functools.partial(_telling, title=title)


def tell_if_real(title: str, lock_of: Callable[[Any], Any]) -> Callable[[Method], Method]:
    """Let a method tell that its object has a real lock, which it does not need for all that it does."""
    return functools.partial(_telling, title=title, lock_of=lock_of)


def _calls(frame: FrameType, name: str) -> bool:
    """Tell whether it is the frame itself that calls a method, and not C code which it has called."""
    code = frame.f_code
    if name == "__getattribute__" or name == "__setattr__" or is_stdlib(code.co_filename):
        return True
    return name in code.co_names or (name == "__enter__" and "WITH" in dis.opname[code.co_code[frame.f_lasti]])


def _user(frame: FrameType | None) -> FrameType | None:
    """Return the line of code under test that uses a lock, itself or by a condition, a queue or a future."""
    while frame is not None and is_stdlib(frame.f_code.co_filename):
        if _LOCKING.isdisjoint(PurePath(frame.f_code.co_filename).parts):
            return None
        frame = frame.f_back
    return frame if frame is not None and (asks(frame) or frame.f_code.co_filename == life.__file__) else None


def _tell(kernel: Kernel, title: str, frame: FrameType) -> None:
    if kernel.over:
        raise RunEnded
    place = locate(frame) or "its beginning"
    kernel.stop(
        Inconclusive(
            f"Task '{kernel.current.name}' used {title} that was made before the run, at {place}: it is not "
            "under control. Make it in the scenario, or name the module that makes it in instrument=[...]."
        )
    )


def _dated(original: Any, replacement: Method) -> classmethod[Any, Any, Any]:
    def dated(kind: Any, *args: Any, **options: Any) -> Any:
        kernel = running()
        if kernel is None or not asks(sys._getframe(1)):
            return original.__get__(None, kind)(*args, **options)
        return replacement(kernel, kind, *args, **options)

    return classmethod(functools.update_wrapper(dated, original))


def _now(kernel: Kernel, kind: type[datetime.datetime], tz: datetime.tzinfo | None = None) -> datetime.datetime:
    return kind.fromtimestamp(clock.read_wall(kernel), tz)


def _utcnow(kernel: Kernel, kind: type[datetime.datetime]) -> datetime.datetime:
    return kind.fromtimestamp(clock.read_wall(kernel), datetime.UTC).replace(tzinfo=None)


def _today(kernel: Kernel, kind: type[datetime.date]) -> datetime.date:
    return kind.fromtimestamp(clock.read_wall(kernel))
