"""An engine whose clients are threads, as the model RequestPath and those that extend it see it.

    "client 1" ─ submit, result / close / deletion ─► scheduler ─► "dispatcher" ─► a worker that answers at once
    "client 2"                                            ▲                            │
                                                          └── output table ◄── "pump" ◄┘

Clients call one after another, so that the numbers of their requests are known; the rest is up to the schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from omni_ipc.errors import Full
from omni_ipc.scenarios.answering import AnsweringWorker
from omni_ipc.scenarios.clients import AT_REST_S, CONFIG, GONE, ClientWorld
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.world import DELIVERED, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Event, Runtime, Task
from omni_ipc.serving.admission import Admission
from omni_ipc.serving.messages import Command, Execute
from omni_ipc.serving.output_streams import OutputStreams
from omni_ipc.serving.requests import Request
from omni_ipc.serving.streams import OutputStream

NUMBER = "number"
CLOSED = "closed"
REFUSED = "refused"
NONE = ANSWER = 0


class NotingWorker(AnsweringWorker):
    """Notes whose outputs it was asked for, in order: requests bear their numbers."""

    def __init__(self, rt: Runtime, *, output_after_s: float = 0.0) -> None:
        super().__init__(rt, output_after_s=output_after_s)
        self.owner: list[object] = []

    def send(self, message: Command, payload: Any = None) -> None:
        if isinstance(message, Execute):
            self.owner += [request.options[NUMBER] for request in message.requests]
        super().send(message, payload)


class RequestPathWorld(ClientWorld):
    """Clients as threads: what each does with its stream is told by its number.

    Attributes:
        ids: number -> the id of the request.
        closing: who closes the stream over its stream and does not ask for the output.
        deserting: who lets go of its stream; somebody looks at the statistics then.
        aborted: the number of a request whose id somebody aborts, once it was submitted.
        worker: that computes.
    """

    ids: Mapping[int, str]
    closing: frozenset[int] = frozenset()
    deserting: frozenset[int] = frozenset()
    aborted: int | None = None
    worker: type[NotingWorker] = NotingWorker
    config = msgspec.structs.replace(CONFIG, max_batch=1)

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        self._worker = self.worker(rt)
        super().__init__(rt, parts, launch or (lambda *_: self._worker))
        self._admissions: dict[int, Admission] = {}
        self._called: dict[int, Event] = {number: rt.event() for number in (0, *self.ids)}
        self._called[0].set()
        self._gone: dict[int, Event] = {number: rt.event() for number in self.deserting}
        self._layer = parts.streams
        self._log: OutputStreams | None = None
        self._missed = ""

    async def _serve(self) -> None:
        for task in [*self._engage()]:
            task.join()  # blocks: a loop would only multiply schedules
        self._rt.sleep(AT_REST_S)
        if self._missed:
            raise OutputsLost(self._missed)

    def _engage(self) -> Iterator[Task]:
        """Begin everything that is to happen."""
        for number in self.ids:
            yield self._rt.spawn(self._act, number, name=_client(number))
        if self.aborted is not None:
            yield self._rt.spawn(self._abort, self.aborted, name="abort")
        if self.deserting:
            yield self._rt.spawn(self._look, name="monitor")

    def _act(self, number: int) -> None:
        """Be a client, from its call to its end."""
        self._called[number - 1].wait()
        with self._ending(_client(number)):
            try:
                streams = self._submit(Request(self.ids[number], options={NUMBER: number}))
            except Full:
                self._endings[_client(number)] = REFUSED
                return
            finally:
                self._called[number].set()
            if number in self.closing:
                self._close(number, streams)
            elif number in self.deserting:
                streams.clear()
                self._endings[_client(number)] = GONE
                self._gone[number].set()
            else:
                self._served(_client(number), streams.pop().result())

    def _submit(self, request: Request) -> list[OutputStream]:
        """Submit a request, and let nobody but the list hold its stream."""
        return [self._engine.submit(request)]

    def _close(self, number: int, streams: list[OutputStream]) -> None:
        """Close the layer over a stream, as its consumer does when it leaves; a log keeps the layer."""
        admission = streams[0]._admission
        self._log = self._layer(streams)
        self._log.close()
        self._endings[_client(number)] = CLOSED
        if admission.outcome is None:
            self._missed = f"the stream of request {number} was closed, and the request is open"

    def _look(self) -> None:
        for number in self.deserting:
            self._gone[number].wait()
        self._engine.statistics()

    def _abort(self, number: int) -> None:
        """Abort an id, and see that it was found unless its client has come to an end."""
        self._called[number].wait()
        if not self._engine.abort(self.ids[number]) and _client(number) not in self._endings:
            self._missed = f"request {number} was aborted when it was submitted and had not ended, and was not found"

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of RequestPath."""
        deserted = self._engine._scheduler._deserted.admissions
        return {
            **self._project_requests(pending),
            "deserted": {admission.number for admission in deserted},
            "aborted": pending("abort") is None,
            "looked": pending("monitor") is None,
            "dispatcher": project_dispatcher(pending),
            "arriving": {*self._on_the_lane(pending)} - {ANSWER},
        }

    def _project_requests(self, pending: PendingStep) -> dict[str, object]:
        """Project what becomes of requests and outputs."""
        scheduler, table = self._engine._scheduler, self._table
        for admission in (each for same in scheduler._open.values() for each in same.values()):
            self._admissions[int(admission.request.options[NUMBER] or 0)] = admission  # open, once it was admitted
        return {
            "waiting": set(scheduler._waiting),
            "outcome": {number: self._outcome(number) for number in self.ids},
            "output": {number: self._output(number) for number in self.ids},
            "client": {number: self._doing(pending, number) for number in self.ids},
            "owner": self._worker.owner,
            "opened": {int(output) for opened in table._ledger._open.values() for output in opened},
            "cached": set(map(int, table._cached)),
            "awaited": set(map(int, table._waiting)),
        }

    def _outcome(self, number: int) -> str:
        admission = self._admissions.get(number)
        return "none" if admission is None else admission.outcome or "open"

    def _output(self, number: int) -> int:
        admission = self._admissions.get(number)
        return NONE if admission is None else int(admission.output or NONE)

    def _on_the_lane(self, pending: PendingStep) -> list[int]:
        """Tell what the pump has in its hands, and what is on its way to it: outputs, and answers, which are 0."""
        lane = [int(getattr(message, "output", ANSWER)) for message in self._worker.results.in_flight]
        match pending("pump"):
            case ("Pump.Deliver", {"output": str(output)}):
                return [int(output), *lane]
        return lane

    def _doing(self, pending: PendingStep, number: int) -> str:
        """Tell what a client is about to do, waits for, or has come to."""
        admission = self._admissions.get(number)
        match pending(_client(number)):
            case None if (ending := self._endings.get(_client(number))) is not None:
                return _ENDED.get(ending, "refused" if admission is None else "failed")
            case (region, _) if region in _NEXT:
                return _NEXT[region]
            case ("Stream.End", _):
                return "holding" if number in self.closing else "failing"
        if admission is None:
            return "calling"
        return "awaiting" if admission.output in self._table._waiting else "asking"


def _client(number: int) -> str:
    return f"client {number}"


def project_dispatcher(pending: PendingStep) -> str:
    """Tell what the dispatcher is about to do."""
    match pending("dispatcher"):
        case None:
            return "gone"
        case (region, _):
            return _DISPATCHER.get(region, "took")


_DISPATCHER = {"Dispatcher.Take": "ready", "condition.wake": "asleep"}
_NEXT = {"Engine.Admit": "calling", "Consumer.Wait": "asking", "Stream.Deliver": "having", "Stream.Desert": "holding"}
_ENDED = {DELIVERED: "served", CLOSED: "closed", GONE: "gone", REFUSED: "refused"}
