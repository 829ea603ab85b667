"""Which names of asyncio lead to controlled loops while an exploration is open; see `standard.redirects`.

Two of them are there only because asyncio leaves an order to memory addresses: of all tasks, and of coroutines that are
awaited as they complete.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import warnings
from asyncio import events
from collections.abc import Callable, Iterable, Iterator
from threading import get_ident
from typing import Any

from omni_ipc.testbed.loops.loop import ControlledLoop
from omni_ipc.testbed.loops.owners import PRIMITIVES, touching
from omni_ipc.testbed.loops.registry import Loops
from omni_ipc.testbed.standard.redirects import Redirect
from omni_ipc.testbed.standard.world import WORLD, running

Method = Callable[..., Any]


def _new_event_loop(original: Method) -> Method:
    @functools.wraps(original)
    def new_event_loop(self: Any) -> Any:
        kernel = running()
        return original(self) if kernel is None else ControlledLoop(kernel)

    return new_event_loop


def _set_event_loop(original: Method) -> Method:
    @functools.wraps(original)
    def set_event_loop(self: Any, loop: asyncio.AbstractEventLoop | None) -> None:
        kernel = running()
        if kernel is None:
            return original(self, loop)  # type: ignore[no-any-return]
        if loop is not None and not isinstance(loop, asyncio.AbstractEventLoop):
            raise TypeError(f"loop must be an instance of AbstractEventLoop or None, not '{type(loop).__name__}'")
        Loops.of(kernel).chosen[kernel.current.index] = loop
        return None

    return set_event_loop


def _get_event_loop(original: Method) -> Method:
    @functools.wraps(original)
    def get_event_loop(self: Any) -> Any:
        kernel = running()
        if kernel is None:
            return original(self)
        chosen, index = Loops.of(kernel).chosen, kernel.current.index
        if index not in chosen and kernel.current is kernel.tasks[0]:
            chosen[index] = ControlledLoop(kernel)
        if chosen.get(index) is None:
            name = "MainThread" if index == 0 else kernel.current.name
            raise RuntimeError(f"There is no current event loop in thread {name!r}.")
        return chosen[index]

    return get_event_loop


def _all_tasks(original: Method) -> Method:
    @functools.wraps(original)
    def all_tasks(loop: Any = None) -> Any:
        of = events._get_running_loop() if loop is None else loop
        return set(of.pending_tasks()) if isinstance(of, ControlledLoop) else original(loop)

    return all_tasks


def _as_completed(original: Method) -> Method:
    @functools.wraps(original)
    def as_completed(fs: Any, **options: Any) -> Any:
        if isinstance(events._get_running_loop(), ControlledLoop) and isinstance(fs, Iterable):
            fs = fs if asyncio.isfuture(fs) else [asyncio.ensure_future(each) for each in dict.fromkeys(fs)]
        return original(fs, **options)

    return as_completed


def _warn_unawaited_coroutine(original: Method) -> Method:
    """Do not tell of coroutines that nobody awaited because their run was over.

    The collector, which alone finalizes objects before they are deleted, does not run beside a loop: what it finds in
    the steps before there is one was left in a circle by an earlier run.
    """

    def warn(coroutine: Any) -> None:
        kernel = running()
        is_of_run = kernel is not None and not kernel.over and not gc.is_finalized(coroutine)
        if is_of_run or get_ident() != WORLD.thread:
            original(coroutine)

    return warn


def _redirects() -> Iterator[Redirect]:
    policy = events.BaseDefaultEventLoopPolicy
    yield Redirect(policy, "new_event_loop", _new_event_loop)
    yield Redirect(policy, "set_event_loop", _set_event_loop)
    yield Redirect(policy, "get_event_loop", _get_event_loop)
    for module in (asyncio, asyncio.tasks):
        yield Redirect(module, "all_tasks", _all_tasks)
        yield Redirect(module, "as_completed", _as_completed)
    yield Redirect(warnings, "_warn_unawaited_coroutine", _warn_unawaited_coroutine)
    for kind, names in PRIMITIVES.items():
        for name in names.split():
            yield Redirect(kind, name, touching)


LOOP_REDIRECTS: tuple[Redirect, ...] = tuple(_redirects())
