"""Look-alikes of primitives that modules under test made when they were imported, and keep: locks, queues, events."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.condition import ControlledCondition
from omni_ipc.testbed.objects.event import ControlledEvent
from omni_ipc.testbed.objects.lock import PlainLock
from omni_ipc.testbed.objects.queue import ControlledQueue
from omni_ipc.testbed.objects.rlock import ControlledRLock
from omni_ipc.testbed.objects.semaphore import ControlledBoundedSemaphore, ControlledSemaphore

Maker = Callable[[Kernel, Any, Callable[[Any], Any]], Any]


def _event(kernel: Kernel, event: threading.Event, _of: Callable[[Any], Any]) -> ControlledEvent:
    made = ControlledEvent(kernel)
    made._flag = event.is_set()
    return made


_MAKERS: dict[type, Maker] = {
    type(threading.Lock()): lambda kernel, _lock, _of: PlainLock(kernel),
    type(threading.RLock()): lambda kernel, _lock, _of: ControlledRLock(kernel),
    threading.Condition: lambda kernel, condition, of: ControlledCondition(kernel, of(condition._lock)),
    threading.Event: _event,
    threading.Semaphore: lambda kernel, semaphore, _of: ControlledSemaphore(kernel, semaphore._value),
    threading.BoundedSemaphore: lambda kernel, semaphore, _of: ControlledBoundedSemaphore(
        kernel, semaphore._initial_value
    ),
    queue.Queue: lambda kernel, made, _of: ControlledQueue(kernel, made.maxsize),
}


def is_primitive(value: object) -> bool:
    """Tell whether a value is a primitive of the standard library itself, and not of a class derived from one."""
    return type(value) in _MAKERS


class StandIns:
    """One for each primitive, whoever holds it.

    Args:
        kernel: that has what outlives runs.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._made: dict[int, tuple[Any, Any]] = {}

    def of(self, primitive: Any) -> Any:
        """Return what stands in for a primitive."""
        if id(primitive) not in self._made:
            self._made[id(primitive)] = primitive, _MAKERS[type(primitive)](self._kernel, primitive, self.of)
        return self._made[id(primitive)][1]
