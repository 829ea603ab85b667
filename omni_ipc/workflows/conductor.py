"""The conductor: holds one schedule for the tasks of several real processes, and lets each step go in its turn.

Each process connects through a `ConductedRuntime`. A step goes once the one before it is over. A step of the vocabulary
that is not the next one waits; steps outside the vocabulary are never asked about. When the schedule is over, when its
task has ended or stands before another step than the next one, or when that does not come within the conductor's
patience, everybody is set free: a conducted run always ends.

Regions ("Pump.Deliver") are what a schedule is about. What a task does between them ("loop.run", "future.cancel") only
helps: it is put in order where the schedule has it, and passes where it has not; and the schedule passes over it where
the task has gone past it.

At a kill the conductor ends the process, once the step before is over. Until then none of its tasks has gone beyond the
last step that the schedule has for it. From then on time passes, as whoever finds the dead looks for them now and then;
and the schedule's limits of waits hold no more. What else may go wrong cannot be brought about from outside.
"""

from __future__ import annotations

import contextlib
import math
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, TracebackType

import msgspec

from omni_ipc.records import Step
from omni_ipc.seam.turn_messages import Arrive, Done, Flow, Free, Go, Heard, Left, Said, Withdrawn, is_region
from omni_ipc.workflows.rest import ON_HOST_S

_LOOK_S = 0.02

NO_KILLS: Mapping[str, Callable[[], bool]] = MappingProxyType({})


class Conducted(msgspec.Struct, frozen=True):
    """How far a schedule was followed."""

    followed: int  # steps that were taken in their turn
    of: int
    refusal: str | None = None  # why the next step could not be taken
    passed: int = 0  # steps between regions that were not needed
    is_departure: bool = False  # the refusal is final: the step would never have come, as the code goes another way

    @property
    def whole(self) -> bool:
        """Whether every step was taken in its turn, or not needed."""
        return self.followed + self.passed == self.of


class Conductor:
    """Conducts one schedule; use it as a context manager around the run.

    Args:
        steps: the schedule; a step matches a task that arrives with the same action, and the same values in the
            fields that both have; one that has expired, a task that waits with a limit.
        patience_s: how long the next step may take to come, or to end, before the schedule is given up; counted from
            the first arrival, so that processes may take their time to start, and anew from each step.
        at_rest: tells whether nobody moves any more; once that was so for ``rest_s``, the schedule is given up as well.
        rest_s: see `rest_s_on`; behind a kill twice that.
        kills: action of a kill -> ends that process, and tells whether it has ended.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        *,
        patience_s: float,
        at_rest: Callable[[], bool] = lambda: False,
        rest_s: float = ON_HOST_S,
        kills: Mapping[str, Callable[[], bool]] = NO_KILLS,
    ) -> None:
        self._steps = steps
        self._kills = kills
        self._patience_s = patience_s
        self._at_rest = at_rest
        self._rest_s = rest_s
        self._resting = 0  # looks in a row at which nobody moved
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()  # tells the thread of new connections, and of the end
        self._selector.register(self._bell, selectors.EVENT_READ, self._hear_bell)
        self._unregistered: list[socket.socket] = []
        self._waiting: list[tuple[Arrive, socket.socket]] = []
        self._going: tuple[int, socket.socket] | None = None
        self._at = 0  # the next step
        self._passed = 0
        self._time = 0.0
        self._flows = False  # time passes by itself, since a process was killed
        self._seen: dict[str, socket.socket | None] = {}  # task -> whence it has come; None once it has ended
        self._refusal: str | None = None
        self._is_departure = False
        self._deadline = math.inf  # of the next step, once any task has come
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
        followed = self._at - self._passed
        return Conducted(followed, len(self._steps), self._refusal, self._passed, self._is_departure)

    def _conduct(self) -> None:
        while True:
            ready = self._selector.select(self._limit())
            for key, _ in ready:
                hear: Callable[[], None] = key.data
                hear()
            if not ready and self._stopped:
                return
            self._let_next_go()
            if not (ready or self._free):
                self._lose_patience()

    def _limit(self) -> float | None:
        """Seconds to wait for news; once stopped, only what was said already is heard."""
        if self._stopped:
            return 0
        return None if self._free or self._deadline == math.inf else _LOOK_S

    def _be_patient(self) -> None:
        self._deadline = time.monotonic() + self._patience_s
        self._resting = 0

    def _lose_patience(self) -> None:
        """Look whether it makes sense to wait for longer."""
        self._resting = self._resting + 1 if self._at_rest() else 0
        if self._resting * _LOOK_S >= self._rest_s * (1 + self._flows):
            self._give_up(", and nobody moves any more")
        elif time.monotonic() >= self._deadline:
            self._give_up(f" within {self._patience_s:g} s", is_departure=False)

    def _hear_bell(self) -> None:
        self._bell.recv(64)
        while self._unregistered:
            connection = self._unregistered.pop()
            self._selector.register(connection, selectors.EVENT_READ, _Listener(connection, self._hear))
            if self._free or self._flows:
                _tell(connection, Free() if self._free else Flow())

    def _hear(self, connection: socket.socket, message: Said | None) -> None:
        match message:
            case Arrive():
                if not self._seen:
                    self._be_patient()
                self._seen[message.task] = connection
                self._receive(message, connection)
            case Done(ticket=ticket) if self._going == (ticket, connection):
                self._going = None
                self._at += 1
                self._be_patient()
            case Withdrawn(ticket=ticket):
                self._waiting = [each for each in self._waiting if (each[0].ticket, each[1]) != (ticket, connection)]
            case Left(task=task):
                self._seen[task] = None
            case None:  # the process has left, or died
                self._selector.unregister(connection)
                connection.close()
                self._waiting = [arrival for arrival in self._waiting if arrival[1] is not connection]
                self._seen = {task: None if on is connection else on for task, on in self._seen.items()}
                if self._going is not None and self._going[1] is connection:
                    self._refuse("did not end: its process has", is_departure=False)

    def _receive(self, arrival: Arrive, connection: socket.socket) -> None:
        """Let a task wait for its turn, unless the schedule does not have what it does between regions."""
        if self._free:
            return
        if self._passes(arrival):
            _tell(connection, Go(arrival.ticket))
        else:
            self._waiting.append((arrival, connection))

    def _passes(self, arrival: Arrive) -> bool:
        """Tell whether a task need not wait for its turn: it is not in the schedule, and the task is not at its end."""
        if arrival.until is not None or (is_region(arrival.action) and not arrival.beyond):
            return False
        due = next((step for step in self._steps[self._at :] if step.task == arrival.task), None)
        return due is not None if arrival.beyond else due is None or not self._matches(due, arrival)

    def _matches(self, step: Step, arrival: Arrive) -> bool:
        if not step.fits(arrival.action, arrival.fields) or step.expired is not (arrival.until is not None):
            return False
        return arrival.until is None or step.time is None or self._flows or arrival.until <= step.time + _MOMENT_S

    def _let_next_go(self) -> None:
        while not self._free and self._going is None:
            if self._at == len(self._steps):
                self._set_free()
                return
            step = self._steps[self._at]
            if is_fault(step):
                self._bring_about(step)
                continue
            standing = [each for each in self._waiting if each[0].task == step.task]
            fitting = next((each for each in standing if self._matches(step, each[0])), None)
            if fitting is not None:
                self._let_go(step, *fitting)
                return
            elsewhere = next((arrival for arrival, _ in standing if arrival.until is None or step.expired), None)
            if elsewhere is None and self._seen.get(step.task, self._bell) is not None:
                return  # it may yet come
            if is_region(step.action):
                self._refuse("did not come: " + (_place(elsewhere) if elsewhere else f"{step.task} has ended"))
                return
            self._at += 1
            self._passed += 1

    def _bring_about(self, step: Step) -> None:
        """Kill a process; or give up, where something else is to go wrong."""
        kill = self._kills.get(step.action)
        if kill is None:
            self._refuse("can only happen under control", is_departure=False)
        elif step.fields:
            self._refuse("can only happen under control: nobody sees from outside where a write is", is_departure=False)
        elif not kill():
            self._refuse("did not end: the process lives on", is_departure=False)
        else:
            self._at += 1
            self._flows = True
            self._be_patient()
            self._tell_all(Flow())

    def _let_go(self, step: Step, arrival: Arrive, connection: socket.socket) -> None:
        self._be_patient()
        self._waiting.remove((arrival, connection))
        self._going = (arrival.ticket, connection)
        self._time = max(self._time, step.time or 0.0)
        _tell(connection, Go(arrival.ticket, self._time))

    def _give_up(self, why: str, *, is_departure: bool = True) -> None:
        what = "did not end" if self._going is not None else "did not come"
        others = "; ".join(_place(arrival) for arrival, _ in self._waiting)
        self._refuse(f"{what}{why} ({others or 'nobody waits for a turn'})", is_departure=is_departure)

    def _refuse(self, why: str, *, is_departure: bool = True) -> None:
        self._is_departure = is_departure
        self._refusal = f"step {self._at + 1} of {len(self._steps)}, {self._steps[self._at]}, {why}"
        self._set_free()

    def _set_free(self) -> None:
        self._free, self._going = True, None
        self._waiting.clear()
        self._tell_all(Free())

    def _tell_all(self, message: Heard) -> None:
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, _Listener):
                _tell(key.data.connection, message)


class _Listener:
    """Reads the messages of one connection, a line each."""

    def __init__(self, connection: socket.socket, hear: Callable[[socket.socket, Said | None], None]) -> None:
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


_MOMENT_S = 1e-6
"""Deadlines are sums, and times differences."""

_DECODER = msgspec.json.Decoder(Said)


def is_fault(step: Step) -> bool:
    """Tell whether a step is something that goes wrong: "fault.kill(worker)"."""
    return step.action.startswith("fault.")


def _place(arrival: Arrive) -> str:
    stands = "stands before" if arrival.until is None else f"waits until {arrival.until:g} s in"
    return f"{arrival.task} {stands} {arrival.action} at {arrival.where}"


def _tell(connection: socket.socket, message: Heard) -> None:
    with contextlib.suppress(OSError):  # it has left; the selector will say so
        connection.sendall(msgspec.json.encode(message) + b"\n")
