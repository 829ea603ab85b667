"""Attributes of the standard library's own objects that are state of theirs: to read one is a step.

An instance of a user's subclass, and a barrier, runs the library's own code over locks under control. So whoever looks
past the lock, and reads an attribute, looks at what the lock guards.
"""

from __future__ import annotations

import functools
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from omni_ipc.testbed.objects.lock import ControlledLock
from omni_ipc.testbed.objects.state import Part, State, is_under_test
from omni_ipc.testbed.operations import Reading
from omni_ipc.testbed.standard.life import Life
from omni_ipc.testbed.standard.world import running

Undo = Callable[[], object]
Guardian = Callable[[Any], Any]


def _lock_of(*path: str) -> Guardian:
    """Give what finds the lock that guards an object's state, if it is under control."""

    def find(value: Any) -> ControlledLock | None:
        for name in path:
            value = getattr(value, "__dict__", {}).get(name)
        return value if isinstance(value, ControlledLock) else None

    return find


_OF_CONDITION, _OF_QUEUE, _OF_FUTURE = _lock_of("_cond", "_lock"), _lock_of("mutex"), _lock_of("_condition", "_lock")
_STATE: tuple[tuple[type, Guardian, str], ...] = (
    (threading.Event, _OF_CONDITION, "_flag"),
    (threading.Semaphore, _OF_CONDITION, "_value"),
    (threading.Barrier, _OF_CONDITION, "_count _state"),
    (Future, _OF_FUTURE, "_state _result _exception"),
    (
        queue.Queue,
        _OF_QUEUE,
        "maxsize unfinished_tasks queue" + (" is_shutdown" if sys.version_info >= (3, 13) else ""),
    ),
)


def patch() -> Iterator[Undo]:
    """Let attributes be steps; each item that is given puts one back."""
    for kind, guardian, names in _STATE:
        for name in names.split():
            setattr(kind, name, State(name, name, guardian, is_container=name == "queue"))
            yield functools.partial(delattr, kind, name)


def of_barrier(original: property) -> property:
    """Replace an attribute of `threading.Barrier` that is worked out of its state."""

    def look(barrier: threading.Barrier) -> Any:
        lock = _OF_CONDITION(barrier) if is_under_test(sys._getframe(1)) else None
        if lock is None:
            return original.__get__(barrier)
        assert original.fget is not None
        part = Part(lock, original.fget.__name__, functools.partial(original.__get__, barrier))
        return lock.kernel.perform(Reading("field.read", part, part.get))

    return property(look, doc=original.__doc__)


def of_event(original: Callable[[threading.Event], bool]) -> Callable[[threading.Event], bool]:
    """Replace the one method of `threading.Event` that looks past the lock."""

    @functools.wraps(original)
    def is_set(event: threading.Event) -> bool:
        lock = _OF_CONDITION(event)
        if lock is None:
            return original(event)
        part = Part(lock, "_flag", functools.partial(original, event))
        return bool(lock.kernel.perform(Reading("event.is_set", part, part.get)))

    return is_set


def of_start(original: property) -> property:
    """Replace an attribute of `threading.Thread` that its start sets."""

    def look(thread: threading.Thread) -> Any:
        kernel, life = running(), thread.__dict__.get("_started")
        if kernel is None or not isinstance(life, Life) or not is_under_test(sys._getframe(1)):
            return original.__get__(thread)
        if life.task is kernel.current:  # has been started
            return original.__get__(thread)
        return kernel.perform(Reading("thread.ident", life, functools.partial(original.__get__, thread)))

    return property(look, doc=original.__doc__)
