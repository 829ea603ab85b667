"""Which run is on in this process, and whether a caller is code under test."""

from __future__ import annotations

import functools
import gc
import os
import threading
from pathlib import PurePath
from threading import get_ident
from types import FrameType
from typing import Protocol

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.where import is_stdlib

TRUSTED = frozenset({"numpy", "msgspec", "torch", "greenlet"})  # keep locks and clocks of their own, and to themselves
_ROOM = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_CALLERS = tuple(
    _ROOM + name for name in ("tasks.py", "standard/executor.py", "standard/contexts.py", "objects/future.py")
)
_BUILT_OF_LOCKS = {"threading.py", "queue.py", "sched.py", "asyncio", "concurrent", "functools.py", "logging"}
"""Parts of the library that take locks, or clocks, of its other parts."""


class Guarding(Protocol):
    """The part of a guard that is asked which run it guards."""

    kernel: Kernel | None


class World:
    """The explorations that are open, all in one thread.

    Attributes:
        guards: innermost last.
        thread: in which they are.
        imports: modules that are being imported: with each, the kernel that has what they make, and the task if any.
        hook: what is told of exceptions in threads, unless code under test has set one of its own.
        handing_over: somebody else's signal handler runs, and is no code under test.
    """

    __slots__ = ("guards", "handing_over", "hook", "imports", "thread")

    def __init__(self) -> None:
        self.guards: list[Guarding] = []
        self.thread = 0
        self.imports: list[tuple[Kernel, Task | None]] = []
        self.hook: object = threading.excepthook
        self.handing_over = False

    def innermost(self) -> Kernel | None:
        """Return the innermost run of which a task runs now, whoever asks."""
        for guard in reversed(self.guards):
            kernel = guard.kernel
            if kernel is not None and kernel.current is not kernel.outside:
                return kernel
        return None

    def running(self) -> Kernel | None:
        """Return the innermost run of which a task runs now, in this thread."""
        kernel = self.innermost()
        return None if kernel is None or self.handing_over or get_ident() != self.thread else kernel

    def maker(self) -> Kernel | None:
        """Return the kernel that a new object is to belong to; None if it is to be a real one."""
        kernel = self.running()
        if self.imports and get_ident() == self.thread:
            importing, task = self.imports[-1]
            if task is None or (kernel is not None and kernel.current is task):
                return importing
        return kernel


WORLD = World()
running = WORLD.running


def asks(frame: FrameType) -> bool:
    """Tell whether a caller of the standard library is to be given what is under control.

    It is if it is code under test, or a part of the standard library that builds on locks.
    """
    return _is_redirected(frame.f_code.co_filename) and not (gc.callbacks and is_of_collector(frame))


def is_of_collector(frame: FrameType) -> bool:
    """Tell whether a frame is a callback of the garbage collector, which comes in the middle of any task."""
    return any(getattr(callback, "__code__", None) is frame.f_code for callback in gc.callbacks)


@functools.cache
def _is_redirected(file: str) -> bool:
    if file.startswith(_ROOM) or is_trusted(file):
        return file.startswith(_CALLERS)
    if not is_stdlib(file):
        return True
    return any(part in _BUILT_OF_LOCKS for part in PurePath(file).parts)


@functools.cache
def is_trusted(file: str) -> bool:
    """Tell whether a source file belongs to a package that is let be."""
    parts = PurePath(file).parts
    return "site-packages" in parts and parts[parts.index("site-packages") + 1] in TRUSTED
