"""A native runtime that takes its steps in an order held by a conductor, on real threads in real processes.

    task ── Arrive ──► conductor (one for all processes)
    task ◄── Go ────── when it is this step's turn
    task ── Done ────► the next step may go
         ◄── Free ──── the schedule is over, or cannot be followed: everybody runs on as it likes

Only the regions of the vocabulary wait; the others are native. A task waits for its turn *before* it takes the region's
lock, so nobody who waits holds one.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import sys
import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import msgspec

from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.seam.native import NativeRuntime


class Arrive(msgspec.Struct, frozen=True, tag=True):
    """A task stands before a region."""

    ticket: int
    task: str
    action: str
    fields: dict[str, Field]
    where: str


class Done(msgspec.Struct, frozen=True, tag=True):
    """The task has left the region."""

    ticket: int


class Go(msgspec.Struct, frozen=True, tag=True):
    """The task may enter the region."""

    ticket: int


class Free(msgspec.Struct, frozen=True, tag=True):
    """Nobody waits any more."""


class ConductedRuntime(NativeRuntime):
    """One process's side of a conducted schedule.

    Args:
        connection: a stream socket to the conductor; closed by `close`. If it breaks, everybody runs free.
        vocabulary: the (task, action) pairs that the schedule speaks of.
    """

    def __init__(self, connection: socket.socket, vocabulary: Collection[tuple[str, str]]) -> None:
        self._connection = connection
        self._vocabulary = {(task, action) for task, action in vocabulary}
        self._tickets = itertools.count()
        self._lock = threading.Lock()
        self._turns: dict[int, threading.Event] = {}  # guarded by _lock
        self._free = False  # guarded by _lock
        self.errors: list[tuple[str, BaseException]] = []  # (task, what it raised)
        self._listener = threading.Thread(target=self._listen, name="conducted", daemon=True)
        self._listener.start()

    def close(self) -> None:
        """Leave the schedule; whoever still waits runs free."""
        self._set_free()
        with contextlib.suppress(OSError):  # the conductor may have gone first
            self._connection.shutdown(socket.SHUT_RDWR)
        self._listener.join()
        self._connection.close()

    def spawn(self, fn: Callable[..., object], *args: object, name: str) -> threading.Thread:
        """Start a thread; what ends it with an error is kept in ``errors``, for whoever judges the run."""

        def run() -> None:
            try:
                fn(*args)
            except BaseException as error:
                self.errors.append((name, error))

        return super().spawn(run, name=name)

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        inner = super().region(action, lock, **fields)
        task = threading.current_thread().name
        if self._free or (task, action) not in self._vocabulary:
            return inner
        return _Turn(self, Arrive(next(self._tickets), task, action, fields, _caller()), inner)

    def await_turn(self, arrival: Arrive) -> bool:
        """Wait until the conductor lets the step go; False once everybody is free."""
        turn = threading.Event()
        with self._lock:
            if self._free:
                return False
            self._turns[arrival.ticket] = turn
        self._send(arrival)
        turn.wait()  # ends with Go, with Free, or with the connection
        return not self._free

    def end_turn(self, arrival: Arrive) -> None:
        """Tell the conductor that the step is over."""
        self._send(Done(arrival.ticket))

    def _send(self, message: Arrive | Done) -> None:
        data = msgspec.json.encode(message) + b"\n"
        try:
            with self._lock:
                self._connection.sendall(data)
        except OSError:
            self._set_free()

    def _listen(self) -> None:
        decode = msgspec.json.Decoder(Go | Free).decode
        with self._connection.makefile("rb") as lines:
            try:
                for line in lines:
                    match decode(line):
                        case Go(ticket=ticket):
                            self._let_go(ticket)
                        case Free():
                            self._set_free()
            except OSError:
                pass  # the conductor went away
        self._set_free()

    def _let_go(self, ticket: int) -> None:
        with self._lock:
            turn = self._turns.pop(ticket, None)
        if turn is not None:  # else `close` has come first
            turn.set()

    def _set_free(self) -> None:
        with self._lock:
            self._free = True
            turns, self._turns = self._turns, {}
        for turn in turns.values():
            turn.set()


class _Turn:
    """A conducted region: its turn around the region itself."""

    __slots__ = ("_arrival", "_conducted", "_inner", "_runtime")

    def __init__(
        self, runtime: ConductedRuntime, arrival: Arrive, inner: AbstractContextManager[Any, bool | None]
    ) -> None:
        self._runtime = runtime
        self._arrival = arrival
        self._inner = inner

    def __enter__(self) -> None:
        self._conducted = self._runtime.await_turn(self._arrival)
        self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inner.__exit__(kind, error, trace)
        if self._conducted:
            self._runtime.end_turn(self._arrival)


def _caller() -> str:
    """Say where the region is opened, as "outputs.py:88 in deliver"."""
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno} in {frame.f_code.co_name}"
