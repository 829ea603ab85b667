"""A native runtime that takes its steps in an order held by a conductor, on real threads in real processes.

Steps are the regions of the vocabulary, and the uses of what conducted_objects.py makes; everything else is native. A
task waits for its turn *before* it takes the region's lock, so nobody who waits holds one. Time stands still unless
the schedule says that it passes, so that no machine is too slow; see turns.py.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.seam.conducted_objects import ConductedCondition, ConductedEvent, ConductedFuture, ConductedTask
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.seam.turns import Turns

if TYPE_CHECKING:
    from omni_ipc.seam.conducted_loop import ConductedLoop


class ConductedRuntime(NativeRuntime):
    """One process's side of a conducted schedule.

    Args:
        connection: a stream socket to the conductor; closed by `close`. If it breaks, everybody runs free.
        vocabulary: the (task, action) pairs that the schedule speaks of.
        mortal: tasks that the schedule kills.

    Attributes:
        errors: (task, what it raised).
    """

    def __init__(
        self, connection: socket.socket, vocabulary: Collection[tuple[str, str]], mortal: Collection[str] = ()
    ) -> None:
        self._turns = Turns(connection, vocabulary, mortal)
        self.errors: list[tuple[str, BaseException]] = []

    def close(self) -> None:
        """Leave the schedule; whoever still waits runs free."""
        self._turns.close()

    def spawn(self, fn: Callable[..., object], *args: object, name: str) -> threading.Thread:
        """Start a thread; what ends it with an error is kept in ``errors``, for whoever judges the run."""

        def run() -> None:
            try:
                fn(*args)
            except BaseException as error:
                self.errors.append((name, error))

        task = ConductedTask(self._turns, run, name)
        task.start()
        return task

    def condition(self, lock: api.Lock | None = None) -> ConductedCondition:
        return ConductedCondition(self._turns, lock)

    def event(self) -> ConductedEvent:
        return ConductedEvent(self._turns)

    def future(self) -> ConductedFuture:
        return ConductedFuture(self._turns)

    def event_loop(self) -> ConductedLoop:
        """Make a loop of asyncio's, whose steps are conducted."""
        from omni_ipc.seam.conducted_loop import ConductedLoop  # not in every worker: asyncio takes its time to import

        return ConductedLoop(self._turns)

    def now(self) -> float:
        return self._turns.now()

    def sleep(self, seconds: float) -> None:
        """Sleep until the conductor says; where the schedule knows of no sleep, let the time pass at once."""
        turns = self._turns
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        if turns.free or turns.speaks_of("sleep"):
            news = threading.Event()
            with turns.limited("sleep", seconds, news.set) as wait:
                while not wait.is_up():
                    news.wait(wait.left())
                    news.clear()
        else:
            turns.pass_time(seconds)
            time.sleep(0)  # others may go on

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        inner = super().region(action, lock, **fields)
        return _Turn(self._turns, action, fields, inner) if self._turns.speaks_of(action) else inner


class _Turn:
    """A conducted region: its turn around the region itself."""

    __slots__ = ("_action", "_fields", "_inner", "_turns")

    def __init__(
        self, turns: Turns, action: str, fields: dict[str, Field], inner: AbstractContextManager[Any, bool | None]
    ) -> None:
        self._turns = turns
        self._action = action
        self._fields = fields
        self._inner = inner

    def __enter__(self) -> None:
        self._turns.begin(self._action, self._fields, depth=2)
        self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inner.__exit__(kind, error, trace)
        self._turns.end()
