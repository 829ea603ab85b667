"""asyncio's event loop with real selectors and threads, its callbacks and the ends of its waits in conducted order."""

from __future__ import annotations

import asyncio
import functools
import selectors
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVarTuple, Unpack

from omni_ipc.seam.turns import Turns

Ts = TypeVarTuple("Ts")


class ConductedLoop(asyncio.SelectorEventLoop):
    """One loop: taking a callback is a step, posting one from another thread is one, and so is the end of a wait."""

    def __init__(self, turns: Turns) -> None:
        selector = _Selector(turns)
        super().__init__(selector)
        selector.wake = self._wake
        self._turns = turns
        self._ready = _Ready(turns)

    def time(self) -> float:
        return self._turns.now()

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() == self._thread_id:  # type: ignore[attr-defined]
            return super().call_soon_threadsafe(callback, *args, context=context)
        with self._turns.step("loop.call_soon_threadsafe"):
            return super().call_soon_threadsafe(callback, *args, context=context)

    def _wake(self) -> None:
        if not self.is_closed():
            self._write_to_self()  # type: ignore[attr-defined]


class _Ready(deque[asyncio.Handle]):
    """The callbacks that are ready."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns

    def popleft(self) -> asyncio.Handle:
        if self[0].cancelled():
            return super().popleft()
        with self._turns.step("loop.run", callback=handle_title(self[0])):
            return super().popleft()


class _Selector(selectors.DefaultSelector):
    """Waits for as long as the conductor says."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns
        self.wake: Callable[[], object] = bool

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        with self._turns.limited("loop.select", timeout, self.wake) as wait:
            return super().select(wait.left())


def handle_title(handle: asyncio.Handle) -> str:
    """Name what a handle will run: "Class.method" of the coroutine that goes on, else the function."""
    callback: Any = handle._callback  # type: ignore[attr-defined]
    while isinstance(callback, functools.partial):
        callback = callback.func
    owner = getattr(callback, "__self__", None)
    if not isinstance(owner, asyncio.Task):
        return _bare(getattr(callback, "__qualname__", type(callback).__name__))
    coro = owner.get_coro()
    title = _bare(getattr(coro, "__qualname__", type(coro).__name__))
    return f"{title}: cancel()" if getattr(callback, "__name__", "") == "cancel" else title


def _bare(name: str) -> str:
    return name.rpartition("<locals>.")[2]
