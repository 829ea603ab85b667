"""Which names of the standard library lead to what is under control while an exploration is open.

A function is replaced where it is looked up, and where code under test has bound it. A class stays: what it makes for
code under test turns into a look-alike of the same class, so that ``isinstance``, subclasses and names bound long
before are as ever. An instance of a *subclass* runs the standard library's own code, over locks under control.
"""

from __future__ import annotations

import _threading_local
import concurrent.futures
import functools
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from omni_ipc.testbed.objects.condition import ControlledCondition
from omni_ipc.testbed.objects.event import ControlledEvent
from omni_ipc.testbed.objects.future import ControlledFuture
from omni_ipc.testbed.objects.lock import ControlledLock
from omni_ipc.testbed.objects.queue import ControlledLifoQueue, ControlledPriorityQueue, ControlledQueue
from omni_ipc.testbed.objects.rlock import ControlledRLock
from omni_ipc.testbed.objects.semaphore import ControlledBoundedSemaphore, ControlledSemaphore
from omni_ipc.testbed.objects.simple_queue import ControlledSimpleQueue
from omni_ipc.testbed.standard import clock, executor, threads, waiting
from omni_ipc.testbed.standard.world import asks, is_of_collector, running

Method = Callable[..., Any]


class Redirect(NamedTuple):
    """One name.

    Args:
        owner: a module or a class.
        by: makes the replacement, given what is replaced.
    """

    owner: Any
    name: str
    by: Callable[[Any], Any]


def _call(make: Callable[..., Any]) -> Callable[[Method], Method]:
    """Let code under test call ``make(kernel, ...)``."""

    def by(original: Method) -> Method:
        @functools.wraps(original)
        def redirected(*args: Any, **options: Any) -> Any:
            kernel = running()
            if kernel is None or not asks(sys._getframe(1)):
                return original(*args, **options)
            return make(kernel, *args, **options)

        return redirected

    return by


def _ask(answer: Callable[..., Any]) -> Callable[[Method], Method]:
    """Let whoever runs in a task, be it a library, be answered by ``answer(kernel, ...)``."""

    def by(original: Method) -> Method:
        @functools.wraps(original)
        def redirected(*args: Any, **options: Any) -> Any:
            kernel = running()
            if kernel is None or is_of_collector(sys._getframe(1)):
                return original(*args, **options)
            return answer(kernel, *args, **options)

        return redirected

    return by


def _turn(kind: type, into: Any, unless: Callable[..., bool] | None = None) -> Redirect:
    """Let what code under test makes of a class turn into a look-alike; what it may not be made of, it refuses.

    Args:
        unless: tells by the arguments what the standard library's own code suits better.
    """

    def by(original: Method) -> Method:
        @functools.wraps(original)
        def initialize(self: Any, *args: Any, **options: Any) -> None:
            kernel = running() if type(self) is kind else None
            if kernel is None or not asks(sys._getframe(1)) or (unless and unless(*args, **options)):
                return original(self, *args, **options)  # type: ignore[no-any-return]
            self.__class__ = into
            try:
                into.__init__(self, kernel, *args, **options)
            except TypeError:
                self.__class__ = kind
                original(self, *args, **options)  # tells it in its own words
                raise

        return initialize

    return Redirect(kind, "__init__", by)


def _wait_for(wait: Method) -> Callable[[Method], Method]:
    """Wait for futures under control by one step; for instances of subclasses, as ever."""

    def by(original: Method) -> Method:
        @functools.wraps(original)
        def redirected(fs: Any, *args: Any, **options: Any) -> Any:
            kernel = running()
            if kernel is None or not asks(sys._getframe(1)):
                return original(fs, *args, **options)
            fs = set(fs)
            return wait(kernel, fs, *args, **options) if waiting.suits(fs) else original(fs, *args, **options)

        return redirected

    return by


class _Door(type):
    """The class of what stands in for a class that is not written in Python, and so cannot be changed itself."""

    original: Any
    make: Any

    def __call__(cls, *args: Any, **options: Any) -> Any:
        kernel = running()
        if kernel is None or "original" not in vars(cls) or not asks(sys._getframe(1)):
            return super().__call__(*args, **options) if "original" not in vars(cls) else cls.original(*args, **options)
        return cls.make(kernel, *args, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        if "original" not in vars(cls):
            return super().__instancecheck__(instance)
        return isinstance(instance, (cls.original, cls.make))


def _doors(owner: Any, **named: type) -> Iterator[Redirect]:
    """Replace classes that are not written in Python."""
    for name, make in named.items():

        def by(original: Any, make: type = make) -> Any:
            parts = {"original": original, "make": make, "__doc__": original.__doc__, "__module__": original.__module__}
            return _Door(original.__name__, (original,), parts)

        yield Redirect(owner, name, by)


def _has_a_lock_of_its_own(lock: Any = None, *_: Any, **__: Any) -> bool:
    return lock is not None and not isinstance(lock, ControlledLock)


def _functions(owner: Any, how: Callable[[Method], Callable[[Method], Method]], **named: Method) -> Iterator[Redirect]:
    for name, function in named.items():
        yield Redirect(owner, name, how(function))


REDIRECTS: tuple[Redirect, ...] = (
    *_functions(threading, _call, Lock=ControlledLock, _allocate_lock=ControlledLock, RLock=ControlledRLock),
    _turn(threading.Condition, ControlledCondition, unless=_has_a_lock_of_its_own),
    _turn(threading.Event, ControlledEvent),
    _turn(threading.Semaphore, ControlledSemaphore),
    _turn(threading.BoundedSemaphore, ControlledBoundedSemaphore),
    Redirect(threading.Thread, "__init__", threads.initialize),
    Redirect(threading.Thread, "start", threads.start),
    Redirect(threading.Thread, "join", threads.join),
    Redirect(threading.Thread, "is_alive", threads.is_alive),
    Redirect(threading.Thread, "__repr__", threads.represent),
    *_functions(
        threading, _ask, current_thread=threads.current, get_ident=lambda kernel: threads.identify(kernel.current)
    ),
    *_functions(threading, _ask, get_native_id=lambda kernel: threads.identify(kernel.current)),
    *_functions(threading, _ask, main_thread=lambda kernel: threads.thread_of(kernel, kernel.tasks[0])),
    *_functions(threading, _ask, enumerate=threads.living, active_count=lambda kernel: len(kernel.living)),
    *_functions(threading, _ask, _newname=threads.name_new),
    *_functions(_threading_local, _ask, current_thread=threads.current),
    Redirect(threading, "_time", _call(clock.read)),
    Redirect(queue, "time", _call(clock.read)),
    *_functions(
        time, _call, sleep=clock.sleep, clock_gettime=clock.clock_gettime, clock_gettime_ns=clock.clock_gettime_ns
    ),
    *_functions(time, _call, monotonic=clock.read, perf_counter=clock.read, time=clock.read_wall),
    *_functions(time, _call, monotonic_ns=clock.read_ns, perf_counter_ns=clock.read_ns, time_ns=clock.read_wall_ns),
    _turn(queue.Queue, ControlledQueue),
    _turn(queue.LifoQueue, ControlledLifoQueue),
    _turn(queue.PriorityQueue, ControlledPriorityQueue),
    *_doors(queue, SimpleQueue=ControlledSimpleQueue),
    _turn(Future, ControlledFuture),
    Redirect(ThreadPoolExecutor, "__init__", executor.initialize),
    Redirect(ThreadPoolExecutor, "submit", executor.submit),
    Redirect(ThreadPoolExecutor, "shutdown", executor.shutdown),
    *_functions(concurrent.futures, _wait_for, wait=waiting.wait, as_completed=waiting.as_completed),
    *_functions(concurrent.futures._base, _wait_for, wait=waiting.wait, as_completed=waiting.as_completed),
)
