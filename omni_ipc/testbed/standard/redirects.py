"""Which names of the standard library lead to what is under control while an exploration is open."""

from __future__ import annotations

import _thread
import _threading_local
import concurrent.futures
import functools
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from omni_ipc.testbed.objects.condition import ControlledCondition
from omni_ipc.testbed.objects.event import ControlledEvent
from omni_ipc.testbed.objects.future import ControlledFuture
from omni_ipc.testbed.objects.lock import ControlledLock, PlainLock
from omni_ipc.testbed.objects.queue import ControlledLifoQueue, ControlledPriorityQueue, ControlledQueue
from omni_ipc.testbed.objects.rlock import ControlledRLock
from omni_ipc.testbed.objects.semaphore import ControlledBoundedSemaphore, ControlledSemaphore
from omni_ipc.testbed.objects.simple_queue import ControlledSimpleQueue
from omni_ipc.testbed.standard import attributes, clock, current, executor, local, threads, waiting
from omni_ipc.testbed.standard.doors import Door
from omni_ipc.testbed.standard.library import LIBRARY
from omni_ipc.testbed.standard.redirecting import Redirect, answers, calls, makers, turns
from omni_ipc.testbed.standard.sealed import tell_if_real
from omni_ipc.testbed.standard.world import asks, running

__all__ = ["REDIRECTS", "Redirect"]


def _local(original: Any) -> Any:
    return Door(original, local.make, base=local.ControlledLocal)


def _is_set(original: Any) -> Any:
    return tell_if_real("a real event", lambda event: event._cond._lock)(attributes.of_event(original))


def _has_a_lock_of_its_own(lock: Any = None, *_: Any, **__: Any) -> bool:
    return lock is not None and not isinstance(lock, ControlledLock)


def _waits(owner: Any, **functions: Callable[..., Any]) -> Iterator[Redirect]:
    """Wait for futures under control by one step; for instances of subclasses, as ever."""
    for name, function in functions.items():

        def by(original: Callable[..., Any], function: Callable[..., Any] = function) -> Callable[..., Any]:
            @functools.wraps(original)
            def redirected(fs: Any, *args: Any, **options: Any) -> Any:
                kernel = running()
                if kernel is None or not asks(sys._getframe(1)):
                    return original(fs, *args, **options)
                fs = set(fs)
                return function(kernel, fs, *args, **options) if waiting.suits(fs) else original(fs, *args, **options)

            return redirected

        yield Redirect(owner, name, by)


REDIRECTS: tuple[Redirect, ...] = (
    *makers(threading, Lock=PlainLock, _allocate_lock=PlainLock, RLock=ControlledRLock),
    *makers(functools, RLock=ControlledRLock),
    *makers(_thread, allocate_lock=PlainLock, allocate=PlainLock, RLock=ControlledRLock),
    *calls(_thread, start_new_thread=threads.start_new, start_new=threads.start_new),
    turns(threading.Condition, ControlledCondition, unless=_has_a_lock_of_its_own),
    Redirect(threading.Condition, "wait", tell_if_real("a real condition", lambda condition: condition._lock)),
    Redirect(threading.Condition, "notify", tell_if_real("a real condition", lambda condition: condition._lock)),
    turns(threading.Event, ControlledEvent),
    Redirect(threading.Event, "is_set", _is_set),
    turns(threading.Semaphore, ControlledSemaphore),
    turns(threading.BoundedSemaphore, ControlledBoundedSemaphore),
    Redirect(threading, "local", _local),
    Redirect(threading.Thread, "__init__", threads.initialize),
    Redirect(threading.Thread, "start", threads.start),
    Redirect(threading.Thread, "join", threads.join),
    Redirect(threading.Thread, "is_alive", threads.is_alive),
    Redirect(threading.Thread, "__hash__", threads.number),
    Redirect(threading.Thread, "__repr__", threads.represent),
    *(Redirect(threading.Thread, name, attributes.of_start) for name in ("ident", "native_id")),
    *(Redirect(threading.Barrier, name, attributes.of_barrier) for name in ("n_waiting", "broken")),
    *answers(threading, get_ident=current.identify_current, get_native_id=current.identify_current),
    *answers(threading, current_thread=current.current, main_thread=current.main, _newname=current.name_new),
    *answers(threading, enumerate=current.living, active_count=current.count),
    *answers(_thread, get_ident=current.identify_current, get_native_id=current.identify_current),
    *answers(_threading_local, current_thread=current.current),
    *calls(time, sleep=clock.sleep, clock_gettime=clock.clock_gettime, clock_gettime_ns=clock.clock_gettime_ns),
    *calls(time, monotonic=clock.look, perf_counter=clock.look, time=clock.read_wall),
    *calls(time, monotonic_ns=clock.read_ns, perf_counter_ns=clock.read_ns, time_ns=clock.read_wall_ns),
    *(Redirect(time, name, clock.told(0)) for name in ("localtime", "gmtime", "ctime", "asctime")),
    Redirect(time, "strftime", clock.told(1)),
    *calls(threading, _time=clock.look),
    *calls(queue, time=clock.look),
    turns(queue.Queue, ControlledQueue),
    turns(queue.LifoQueue, ControlledLifoQueue),
    turns(queue.PriorityQueue, ControlledPriorityQueue),
    *makers(queue, SimpleQueue=ControlledSimpleQueue),
    turns(Future, ControlledFuture),
    Redirect(ThreadPoolExecutor, "__init__", executor.initialize),
    Redirect(ThreadPoolExecutor, "submit", executor.submit),
    Redirect(ThreadPoolExecutor, "shutdown", executor.shutdown),
    *_waits(concurrent.futures, wait=waiting.wait, as_completed=waiting.as_completed),
    *_waits(concurrent.futures._base, wait=waiting.wait, as_completed=waiting.as_completed),
    *LIBRARY,
)
