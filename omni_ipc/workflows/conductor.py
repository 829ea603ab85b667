"""The conductor: holds one schedule for the tasks of several real processes, and lets each step go in its turn.

Each process connects through a `ConductedRuntime`. A step goes once the one before it is over. A step of the vocabulary
that is not the next one waits; steps outside the vocabulary are never asked about. When the schedule is over, or its
next step does not come within the conductor's patience, everybody is set free: a conducted run always ends.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Sequence
from types import TracebackType

import msgspec

from omni_ipc.records import Step
from omni_ipc.seam.conducted import Arrive, Done, Free, Go


class Conducted(msgspec.Struct, frozen=True):
    """How far a schedule was followed."""

    followed: int  # steps that were taken in their turn
    of: int
    refusal: str | None = None  # why the next step could not be taken

    @property
    def whole(self) -> bool:
        """Whether every step was taken in its turn."""
        return self.followed == self.of


class Conductor:
    """Conducts one schedule; use it as a context manager around the run.

    Args:
        steps: the schedule; a step matches a task that arrives with the same action, and the same values in the
            fields that both have.
        patience_s: how long the next step may take to come, or to end, before the schedule is given up; counted from
            the first arrival, so that processes may take their time to start.
    """

    def __init__(self, steps: Sequence[Step], *, patience_s: float) -> None:
        self._steps = steps
        self._patience_s = patience_s
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()  # tells the thread of new connections, and of the end
        self._selector.register(self._bell, selectors.EVENT_READ, self._hear_bell)
        self._unregistered: list[socket.socket] = []
        self._waiting: list[tuple[Arrive, socket.socket]] = []
        self._going: tuple[int, socket.socket] | None = None
        self._followed = 0
        self._refusal: str | None = None
        self._begun = False
        self._free = False
        self._stopped = False
        self._thread = threading.Thread(target=self._conduct, name="conductor", daemon=True)

    def __enter__(self) -> Conductor:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        self._ring.send(b"!")
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]  # only sockets are registered
        for connection in self._unregistered:
            connection.close()
        self._ring.close()
        self._selector.close()

    def connect(self) -> socket.socket:
        """Make a connection for one process; the caller gives its end to a `ConductedRuntime` there."""
        ours, theirs = socket.socketpair()
        self._unregistered.append(ours)
        self._ring.send(b"+")
        return theirs

    def outcome(self) -> Conducted:
        """Tell how far the schedule was followed until now."""
        return Conducted(self._followed, len(self._steps), self._refusal)

    def _conduct(self) -> None:
        while True:
            ready = self._selector.select(self._limit())
            for key, _ in ready:
                hear: Callable[[], None] = key.data
                hear()
            if not ready:
                if self._stopped:
                    return
                self._give_up()
            self._let_next_go()

    def _limit(self) -> float | None:
        """Seconds to wait for news; once stopped, only what was said already is heard."""
        if self._stopped:
            return 0
        return self._patience_s if self._begun and not self._free else None

    def _hear_bell(self) -> None:
        self._bell.recv(64)
        while self._unregistered:
            connection = self._unregistered.pop()
            self._selector.register(connection, selectors.EVENT_READ, _Listener(connection, self._hear))
            if self._free:
                _tell(connection, Free())

    def _hear(self, connection: socket.socket, message: Arrive | Done | None) -> None:
        match message:
            case Arrive():
                self._begun = True
                self._waiting.append((message, connection))
            case Done(ticket=ticket) if self._going == (ticket, connection):
                self._going = None
                self._followed += 1
            case None:  # the process has left, or died
                self._selector.unregister(connection)
                connection.close()
                self._waiting = [arrival for arrival in self._waiting if arrival[1] is not connection]

    def _let_next_go(self) -> None:
        if self._free or self._going is not None:
            return
        if self._followed == len(self._steps):
            self._set_free()
            return
        step = self._steps[self._followed]
        for arrival, connection in self._waiting:
            if arrival.task == step.task and step.fits(arrival.action, arrival.fields):
                self._waiting.remove((arrival, connection))
                self._going = (arrival.ticket, connection)
                _tell(connection, Go(arrival.ticket))
                return

    def _give_up(self) -> None:
        step = self._steps[self._followed]
        what = "did not end" if self._going is not None else "did not come"
        others = "; ".join(f"{a.task} stands before {a.action} at {a.where}" for a, _ in self._waiting)
        self._refusal = (
            f"step {self._followed + 1} of {len(self._steps)}, {step}, {what} within {self._patience_s:g} s"
            f" ({others or 'nobody waits for a turn'})"
        )
        self._set_free()

    def _set_free(self) -> None:
        self._free = True
        self._waiting.clear()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, _Listener):
                _tell(key.data.connection, Free())


class _Listener:
    """Reads the messages of one connection, a line each."""

    def __init__(self, connection: socket.socket, hear: Callable[[socket.socket, Arrive | Done | None], None]) -> None:
        self.connection = connection
        self._hear = hear
        self._rest = b""

    def __call__(self) -> None:
        try:
            data = self.connection.recv(65536)
        except OSError:
            data = b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._hear(self.connection, _DECODER.decode(line))
        if not data:
            self._hear(self.connection, None)


_DECODER = msgspec.json.Decoder(Arrive | Done)


def _tell(connection: socket.socket, message: Go | Free) -> None:
    with contextlib.suppress(OSError):  # it has left; the selector will say so
        connection.sendall(msgspec.json.encode(message) + b"\n")
