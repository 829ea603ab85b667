"""Turns: one process's side of a conducted schedule, and its clock, which stands still while it is conducted."""

from __future__ import annotations

import contextlib
import itertools
import math
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator

import msgspec

from omni_ipc.records import Field
from omni_ipc.seam.turn_messages import Arrive, Done, Flow, Free, Go, Heard, Left, Said, Withdrawn, is_region


class Limited:
    """One wait with a limit: ended by what is waited for, by the conductor, or, once all are free, by the clock.

    Attributes:
        expired: the conductor has said that the time is up.
        going: the conductor waits to hear that the wait is over.
    """

    def __init__(self, turns: Turns, deadline: float, wake: Callable[[], object]) -> None:
        self._turns = turns
        self.deadline = deadline
        self.wake = wake
        self.expired = self.going = False

    def left(self) -> float | None:
        """Tell for how long to wait before the next look; None while time stands still."""
        if self.expired:
            return 0.0
        return max(0.0, self.deadline - self._turns.now()) if self._turns.free else None

    def is_up(self) -> bool:
        """Tell whether its time is up."""
        return self.left() == 0.0


class Turns:
    """What the tasks of one process ask, and hear.

    Args:
        connection: a stream socket to the conductor; closed by `close`. If it breaks, everybody runs free.
        vocabulary: the (task, action) pairs that the schedule speaks of.
        mortal: tasks that the schedule kills: they ask before each region, so that none goes beyond its last step.

    Attributes:
        free: nobody is conducted any more.
    """

    def __init__(
        self, connection: socket.socket, vocabulary: Collection[tuple[str, str]], mortal: Collection[str] = ()
    ) -> None:
        self._connection = connection
        self._vocabulary = {(task, action) for task, action in vocabulary}
        self._mortal = frozenset(mortal)
        self._tasks = {task for task, _ in self._vocabulary} | self._mortal
        self._tickets = itertools.count()
        self._lock = threading.Lock()
        self._turns: dict[int, threading.Event] = {}  # guarded by _lock
        self._limited: dict[int, Limited] = {}  # guarded by _lock; those that the conductor knows, and the others
        self._time = 0.0  # guarded by _lock; seconds that have passed while conducted
        self._flows_from = math.inf  # guarded by _lock; when time began to pass by itself
        self._mine = threading.local()  # .ticket: of the step that this thread is taking
        self.free = False  # written under _lock
        self._listener = threading.Thread(target=self._listen, name="conducted", daemon=True)
        self._listener.start()

    def close(self) -> None:
        """Leave the schedule; whoever still waits runs free."""
        self._set_free()
        with contextlib.suppress(OSError):  # the conductor may have gone first
            self._connection.shutdown(socket.SHUT_RDWR)
        self._listener.join()
        self._connection.close()

    def now(self) -> float:
        """Seconds since the run began; while it is conducted, they pass where the schedule says so."""
        return self._time + max(0.0, time.monotonic() - self._flows_from)

    def pass_time(self, seconds: float) -> None:
        """Let time pass for this process alone, without waiting."""
        with self._lock:
            self._time += seconds

    def speaks_of(self, action: str) -> bool:
        """Tell whether the schedule may have a step for this task here; steps inside of steps are none."""
        if self.free or getattr(self._mine, "ticket", None) is not None:
            return False
        task = threading.current_thread().name
        return (task, action) in self._vocabulary or (task in self._mortal and is_region(action))

    def begin(self, action: str, fields: dict[str, Field], *, depth: int = 1) -> None:
        """Wait until the step may be taken, or everybody is free.

        Args:
            depth: how many frames above this one the step is.
        """
        arrival = self._arrival(action, fields, _place(depth + 1))
        turn = threading.Event()
        with self._lock:
            if self.free:
                return
            self._turns[arrival.ticket] = turn
        self._send(arrival)
        turn.wait()  # ends with Go, with Free, or with the connection
        if not self.free:
            self._mine.ticket = arrival.ticket

    def end(self) -> None:
        """Tell the conductor that the step which this thread has begun is over, if it has begun any."""
        ticket, self._mine.ticket = getattr(self._mine, "ticket", None), None
        if ticket is not None:
            self._send(Done(ticket))

    @contextlib.contextmanager
    def step(self, action: str, **fields: Field) -> Iterator[None]:
        """Take a step, if the schedule may speak of it here."""
        if not self.speaks_of(action):
            yield
            return
        self.begin(action, fields, depth=4)
        try:
            yield
        finally:
            self.end()

    @contextlib.contextmanager
    def limited(self, action: str, timeout_s: float, wake: Callable[[], object]) -> Iterator[Limited]:
        """Wait with a limit, that the conductor may bring about if the schedule speaks of it.

        Args:
            wake: makes the waiter look again; called from any thread, also when the wait is over.
        """
        limited = Limited(self, self.now() + timeout_s, wake)
        arrival = self._arrival(action, {}, _place(5), limited.deadline)
        told = self.speaks_of(action)
        with self._lock:
            self._limited[arrival.ticket] = limited
        if told:
            self._send(arrival)
        try:
            yield limited
        finally:
            with self._lock:
                del self._limited[arrival.ticket]
            if told:
                self._send(Done(arrival.ticket) if limited.going else Withdrawn(arrival.ticket))

    def leave(self) -> None:
        """Tell that this thread ends."""
        if not self.free and (task := threading.current_thread().name) in self._tasks:
            self._send(Left(task))

    def _arrival(self, action: str, fields: dict[str, Field], where: str, until: float | None = None) -> Arrive:
        task = threading.current_thread().name
        beyond = (task, action) not in self._vocabulary
        return Arrive(next(self._tickets), task, action, fields, where, until, beyond)

    def _send(self, message: Said) -> None:
        data = msgspec.json.encode(message) + b"\n"
        try:
            with self._lock:
                self._connection.sendall(data)
        except OSError:
            self._set_free()

    def _listen(self) -> None:
        decode = msgspec.json.Decoder(Heard).decode
        with self._connection.makefile("rb") as lines:
            try:
                for line in lines:
                    match decode(line):
                        case Go() as go:
                            self._let_go(go)
                        case Flow():
                            self._let_time_flow()
                        case Free():
                            self._set_free()
            except OSError:
                pass  # the conductor went away
        self._set_free()

    def _let_go(self, go: Go) -> None:
        with self._lock:
            turn, limited = self._turns.pop(go.ticket, None), self._limited.get(go.ticket)
            self._time = max(self._time, go.time)
            if limited is not None:
                limited.expired = limited.going = True
                self._time = max(self._time, limited.deadline)
        if limited is not None:
            limited.wake()
        elif turn is not None:
            turn.set()
        else:  # the wait has just ended by itself, or `close` has come first
            self._send(Done(go.ticket))

    def _let_time_flow(self) -> None:
        with self._lock:
            self._flows_from = min(self._flows_from, time.monotonic())

    def _set_free(self) -> None:
        self._let_time_flow()
        with self._lock:
            self.free = True
            turns, self._turns = self._turns, {}
            limited = [*self._limited.values()]
        for turn in turns.values():
            turn.set()
        for wait in limited:
            wait.wake()


def _place(depth: int) -> str:
    """Say where a step is, as "outputs.py:88 in deliver"."""
    frame = sys._getframe(depth)
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno} in {frame.f_code.co_name}"
