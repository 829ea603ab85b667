"""The conductor: holds one schedule for the tasks of several real processes, and lets each step go in its turn.

Each process connects through a `ConductedRuntime`. A step goes once the one before it is over. A step of the vocabulary
that is not the next one waits; steps outside the vocabulary are never asked about. When the schedule is over, when its
task has ended or stands before another step than the next one, or when that does not come within the conductor's
patience, everybody is set free: a conducted run always ends.

Regions ("Pump.Deliver") are what a schedule is about. What a task does between them ("loop.run", "future.cancel") only
helps: it is put in order where the schedule has it, and passes where it has not; and the schedule passes over it where
the task has gone past it.

A wait's time is up only once nobody else moves, as in the explorer, where time passes when nobody can go on: what is on
its way to the waiter comes first, on however slow a machine.

At a kill the conductor ends the process, once the step before is over. Until then none of its tasks has gone beyond the
last step that the schedule has for it. From then on time passes, as whoever finds the dead looks for them now and then;
and the schedule's limits of waits hold no more. What else may go wrong cannot be brought about from outside.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, TracebackType

from omni_ipc.records import Step
from omni_ipc.seam.turn_messages import Arrive, Done, Flow, Free, Go, Heard, Left, Said, Withdrawn, is_region
from omni_ipc.workflows.connections import Connections
from omni_ipc.workflows.patience import LOOK_S, Patience
from omni_ipc.workflows.rest import ON_HOST_S
from omni_ipc.workflows.schedule import Conducted, Schedule, is_fault, matches, place_of

NO_KILLS: Mapping[str, Callable[[], bool]] = MappingProxyType({})


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
        self._schedule = Schedule(steps)
        self._kills = kills
        self._patience = Patience(patience_s, at_rest=at_rest, rest_s=rest_s)
        self._connections = Connections()
        self._waiting: list[tuple[Arrive, socket.socket]] = []
        self._going: tuple[int, socket.socket] | None = None
        self._time = 0.0
        self._flows = False  # time passes by itself, since a process was killed
        self._seen: dict[str, socket.socket | None] = {}  # task -> whence it has come; None once it has ended
        self._refusal: str | None = None
        self._is_departure = False
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
        self._connections.ring()
        self._thread.join()
        self._connections.close()

    def connect(self) -> socket.socket:
        """Make a connection for one process; the caller gives its end to a `ConductedRuntime` there."""
        return self._connections.connect()

    def outcome(self) -> Conducted:
        """Tell how far the schedule was followed until now."""
        return self._schedule.outcome(self._refusal, is_departure=self._is_departure)

    def _conduct(self) -> None:
        while True:
            news = self._connections.hear(self._limit(), self._greeting)
            for connection, message in news or ():
                self._hear(connection, message)
            if news is None and self._stopped:
                return
            if news is None:
                self._patience.look()
            else:
                self._patience.stir()
            self._let_next_go()
            if news is None and not self._free:
                self._lose_patience()

    def _limit(self) -> float | None:
        """Seconds to wait for news; once stopped, only what was said already is heard."""
        if self._stopped:
            return 0
        return LOOK_S if self._patience.began and not self._free else None

    def _lose_patience(self) -> None:
        """Look whether it makes sense to wait for longer."""
        if self._patience.is_at_rest:
            self._give_up(", and nobody moves any more")
        elif self._patience.is_over():
            self._give_up(f" within {self._patience.seconds:g} s", is_departure=False)

    def _greeting(self) -> Heard | None:
        """Say what a process is to know that comes now."""
        if self._free:
            return Free()
        return Flow() if self._flows else None

    def _hear(self, connection: socket.socket, message: Said | None) -> None:
        match message:
            case Arrive():
                if not self._seen:
                    self._patience.renew()
                self._seen[message.task] = connection
                self._receive(message, connection)
            case Done(ticket=ticket) if self._going == (ticket, connection):
                self._going = None
                self._schedule.take()
                self._patience.renew()
            case Withdrawn(ticket=ticket):
                self._waiting = [each for each in self._waiting if (each[0].ticket, each[1]) != (ticket, connection)]
            case Left(task=task):
                self._seen[task] = None
            case None:  # the process has left, or died
                self._connections.forget(connection)
                self._waiting = [arrival for arrival in self._waiting if arrival[1] is not connection]
                self._seen = {task: None if on is connection else on for task, on in self._seen.items()}
                if self._going is not None and self._going[1] is connection:
                    self._refuse("did not end: its process has", is_departure=False)

    def _receive(self, arrival: Arrive, connection: socket.socket) -> None:
        """Let a task wait for its turn, unless the schedule does not have what it does between regions."""
        if self._free:
            return
        if self._passes(arrival):
            self._connections.tell(connection, Go(arrival.ticket))
        else:
            self._waiting.append((arrival, connection))

    def _passes(self, arrival: Arrive) -> bool:
        """Tell whether a task need not wait for its turn: it is not in the schedule, and the task is not at its end."""
        if arrival.until is not None or (is_region(arrival.action) and not arrival.beyond):
            return False
        due = self._schedule.due(arrival.task)
        return due is not None if arrival.beyond else due is None or not matches(due, arrival, timed=not self._flows)

    def _let_next_go(self) -> None:
        while not self._free and self._going is None:
            step = self._schedule.next
            if step is None:
                self._set_free()
                return
            if is_fault(step):
                self._bring_about(step)
                continue
            standing = [each for each in self._waiting if each[0].task == step.task]
            fitting = next((each for each in standing if matches(step, each[0], timed=not self._flows)), None)
            if fitting is not None:
                if not step.expired or self._is_calm():
                    self._let_go(step, *fitting)
                return
            elsewhere = next((arrival for arrival, _ in standing if arrival.until is None or step.expired), None)
            if elsewhere is None and not self._has_ended(step.task):
                return  # it may yet come
            if is_region(step.action):
                self._refuse("did not come: " + (place_of(elsewhere) if elsewhere else f"{step.task} has ended"))
                return
            self._schedule.pass_over()

    def _is_calm(self) -> bool:
        """Tell whether nothing is on its way to anybody; the dead are only found when the pump looks for them."""
        return self._patience.is_at_rest if self._flows else self._patience.is_calm

    def _has_ended(self, task: str) -> bool:
        return task in self._seen and self._seen[task] is None

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
            self._schedule.take()
            self._flows = True
            self._patience.rest_s *= 2  # the pump looks, and once more for what was published meanwhile
            self._patience.renew()
            self._connections.tell_all(Flow())

    def _let_go(self, step: Step, arrival: Arrive, connection: socket.socket) -> None:
        self._patience.renew()
        self._waiting.remove((arrival, connection))
        self._going = (arrival.ticket, connection)
        self._time = max(self._time, step.time or 0.0)
        self._connections.tell(connection, Go(arrival.ticket, self._time))

    def _give_up(self, why: str, *, is_departure: bool = True) -> None:
        what = "did not end" if self._going is not None else "did not come"
        others = "; ".join(place_of(arrival) for arrival, _ in self._waiting)
        self._refuse(f"{what}{why} ({others or 'nobody waits for a turn'})", is_departure=is_departure)

    def _refuse(self, why: str, *, is_departure: bool = True) -> None:
        self._is_departure = is_departure
        self._refusal = f"{self._schedule.where()}, {why}"
        self._set_free()

    def _set_free(self) -> None:
        self._free, self._going = True, None
        self._waiting.clear()
        self._connections.tell_all(Free())
