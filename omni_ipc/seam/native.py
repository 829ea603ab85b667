"""The production runtime: every noun *is* the standard library's object."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, cast

from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.seam.words import NativeWords, native_words


class _NoLock:
    """An empty context, shared by all. Its methods are two of C that do nothing: Python's own take twice their time."""

    __slots__ = ()
    __enter__: Callable[..., Any] = staticmethod(str)
    __exit__: Callable[..., Any] = staticmethod(
        "".format
    )  # takes anything, and gives "", which is false: what was raised goes on


_NO_LOCK = _NoLock()


class NativeRuntime:
    """Threads, locks, clock and memory of this process; holds no state, so any number of instances are one."""

    def spawn(self, fn: Callable[..., object], *args: object, name: str) -> threading.Thread:
        """Start a daemon thread; an exception that ends it goes to ``threading.excepthook``."""
        thread = threading.Thread(target=fn, args=args, name=name, daemon=True)
        thread.start()
        return thread

    def lock(self) -> api.Lock:
        return threading.Lock()

    def rlock(self) -> api.Lock:
        return threading.RLock()

    def condition(self, lock: api.Lock | None = None) -> api.Condition:
        return threading.Condition(cast("threading.Lock | None", lock))

    def event(self) -> threading.Event:
        return threading.Event()

    def semaphore(self, value: int = 1) -> threading.Semaphore:
        return threading.Semaphore(value)

    def queue(self, maxsize: int = 0) -> queue.Queue[Any]:
        return queue.Queue(maxsize)

    def future(self) -> Future[Any]:
        return Future()

    def words(self, buffer: memoryview) -> NativeWords:
        return native_words(buffer)

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def watch(self, target: object, guard: api.Lock | api.Condition | None, name: str) -> None:
        """Do nothing: the declaration is for those who look."""

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> contextlib.AbstractContextManager[Any, bool | None]:
        """Return the lock itself, or one shared empty context: the name costs nothing in production."""
        return lock if lock is not None else _NO_LOCK


if TYPE_CHECKING:
    _: api.Runtime = NativeRuntime()
