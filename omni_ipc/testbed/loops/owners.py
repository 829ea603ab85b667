"""asyncio's locks and queues: they belong to the loop that used them first, and others use them at points.

They are no more thread-safe than the loop is, and code calls them from threads all the same: such a call is a step, and
conflicts with all callbacks of the loop that owns what it is about. What no loop has used yet is of one kind for all.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from asyncio import events
from collections.abc import Callable, Mapping
from typing import Any

from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.loops.registry import Loops
from omni_ipc.testbed.operations import Operation, nothing
from omni_ipc.testbed.standard.world import running

PRIMITIVES: Mapping[type, str] = {
    asyncio.Lock: "acquire release locked",
    asyncio.Event: "wait set clear is_set",
    asyncio.Condition: "wait notify",
    asyncio.Semaphore: "acquire release locked",
    asyncio.Queue: "get put join get_nowait put_nowait task_done qsize empty full shutdown",
}
"""Class -> names of its methods; some versions lack some."""


_MARK = getattr(asyncio.coroutines, "_is_coroutine", None)  # so that asyncio.iscoroutinefunction() tells the truth,
_mark: Callable[[Any], Any] = getattr(inspect, "markcoroutinefunction", lambda function: function)  # and inspect's


class Unowned:
    """Stands for all of asyncio's objects that no loop has used yet."""

    def __init__(self, kernel: Kernel) -> None:
        self.bit = kernel.identities["asyncio's objects"]

    def label(self) -> dict[str, Field]:
        return {"asyncio": "objects of no loop yet"}

    def blocked_on(self) -> str:
        return "nothing"

    def holder(self) -> None:
        return None


def touching(original: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a method by one that notices who calls it."""

    @functools.wraps(original)
    def touched(self: Any, *args: Any, **options: Any) -> Any:
        loop = events._get_running_loop()
        if loop is None or self.__dict__.get("_owner") is not loop:
            kernel = running()
            if kernel is not None:
                _touch(kernel, self, original.__qualname__)
        return original(self, *args, **options)

    if inspect.iscoroutinefunction(original):
        touched._is_coroutine = _MARK  # type: ignore[attr-defined]
        return _mark(touched)  # type: ignore[no-any-return]
    return touched


def _touch(kernel: Kernel, target: Any, action: str) -> None:
    loops = Loops.of(kernel)
    mine, owner = loops.running(), target.__dict__.get("_owner")
    unowned = Unowned(kernel)
    if owner is not None and owner.kernel is kernel:
        if owner is not mine:
            kernel.perform(Operation(f"asyncio.{action}", owner.subject, nothing))
    elif mine is not None:
        target._owner = mine
        kernel.writes |= unowned.bit
    else:
        operation = Operation(f"asyncio.{action}", unowned, nothing)
        for loop in loops.all:
            operation.writes |= loop.subject.bit
        kernel.perform(operation)
