"""``contextvars.Context.run`` under control: a context that one task is in cannot be entered by another one."""

from __future__ import annotations

import asyncio
import functools
import sys
import weakref
from collections.abc import Callable
from contextvars import Context, ContextVar
from types import MethodType
from typing import Any

from omni_ipc.records import Field
from omni_ipc.testbed.identity import CONTEXTS, SHARED_CONTEXTS
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import Operation, nothing
from omni_ipc.testbed.standard.world import asks, running
from omni_ipc.testbed.tasks import Task

Method = Callable[..., Any]


class _Contexts:
    """All contexts of a run, as one subject."""

    __slots__ = ("bit",)

    def __init__(self, kernel: Kernel) -> None:
        self.bit = kernel.identities[*CONTEXTS, "*"]  # as `instrument` has it for all that is in one

    def label(self) -> dict[str, Field]:
        return {"context": "a context"}

    def blocked_on(self) -> str:
        return "a context"

    def holder(self) -> Task | None:
        return None


class Run:
    """Stands in for ``Context.run``; for callbacks of a loop it is the original, which has no frame."""

    def __init__(self, original: Any) -> None:
        self._original = original
        self._by = _run_by(original)

    def __get__(self, context: Context | None, kind: type | None = None) -> Any:
        if context is None or running() is None or sys._getframe(1).f_code is asyncio.Handle._run.__code__:
            return self._original.__get__(context, kind)
        return MethodType(self._by, context)


def _run_by(original: Method) -> Method:
    """Return what enters a context.

    Once some run has had two tasks use one context, others may come in between: before it is entered, before a variable
    is set in it, and before it is left.
    """

    @functools.wraps(original)
    def run(self: Context, /, *args: Any, **options: Any) -> Any:
        kernel = running()
        if kernel is None or kernel.over or not args or not asks(sys._getframe(1)):
            return original(self, *args, **options)
        if not _is_shared(kernel, self):
            return original(self, *args, **options)
        contexts = _Contexts(kernel)
        kernel.perform(Operation("context.enter", contexts, nothing))
        return original(self, _inside, kernel, contexts, *args, **options)

    return run


def change(original: Method) -> Method:
    """Replace ``ContextVar.set`` and ``ContextVar.reset``."""

    @functools.wraps(original)
    def change(self: ContextVar[Any], /, *args: Any) -> Any:
        kernel = running()
        if kernel is not None and SHARED_CONTEXTS in kernel.identities.distinctions and asks(sys._getframe(1)):
            kernel.perform(Operation("context.set", _Contexts(kernel), nothing))
        return original(self, *args)

    return change


def _inside(kernel: Kernel, contexts: _Contexts, function: Method, /, *args: Any, **options: Any) -> Any:
    """Call a function in a context, and leave it in a step of its own, however the function ends."""
    try:
        return function(*args, **options)
    finally:
        kernel.perform(Operation("context.leave", contexts, nothing))


def _is_shared(kernel: Kernel, context: Context) -> bool:
    """Note who enters a context, and tell whether contexts are shared, as some run has shown."""
    known, first = kernel.contexts.get(id(context), (None, None))
    if known is None or known() is not context:  # an address may be given to another one
        kernel.contexts[id(context)] = weakref.ref(context), kernel.current
    elif first is not kernel.current:
        kernel.identities.meet(SHARED_CONTEXTS)
    return SHARED_CONTEXTS in kernel.identities.distinctions
