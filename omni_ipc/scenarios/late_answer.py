"""Answers that come when their call was given up, or from an earlier engine: none may be taken for another's.

dispatcher ─ echo(1), echo(2) ─► worker.main
dispatcher ◄─ wave ◄─ pump ◄──── [1], [2], and before them one of an engine that is no more

No time is waited for: whenever the dispatcher goes on, the time of its call is up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from omni_ipc.errors import OmniError, Timeout
from omni_ipc.scenarios.launch import launch_over_queues
from omni_ipc.scenarios.links import QueueLink, QueueWriter
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline
from omni_ipc.scenarios.world import CONFIG, DELIVERED, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.caller import Caller
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.messages import Call, Returned
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pumping import PumpTask
from omni_ipc.serving.waves import Wave

CALLS = (1, 2)
OLD = 1  # the call that an earlier engine's worker answers
TIMED_OUT = "it timed out"


class EchoingPipeline(ArrayPipeline):
    """Returns what it is called with."""

    calls = ("echo",)

    def echo(self, value: int) -> int:
        return value


class NoWait(PumpTask):
    """The pump for callers whose time is always up: whether the answer came by then, the order of steps decides."""

    def wait(self, future: Future[Any], timeout_s: float) -> None:
        raise TimeoutError


class NotingTable:
    """The table as a caller sees it; keeps each wave, to be looked at when the table has forgotten it."""

    def __init__(self, table: OutputTable, waves: dict[int, Wave]) -> None:
        self._table = table
        self._waves = waves

    def expect_rpc(self, rpc: int, *, ranks: int) -> Wave:
        wave = self._waves[rpc] = self._table.expect_rpc(rpc, ranks=ranks)
        return wave

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


class LateAnswerWorld:
    """A dispatcher calls twice, and gives up when it likes."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        self._rt = rt
        self._table = parts.table(rt=rt)
        self._link = _launch(rt, parts) if launch is None else _asked_before(launch(rt, parts))
        self._pump = parts.pump(rt=rt, link=self._link, table=self._table, poll_s=CONFIG.poll_s, end=self._table.close)
        self._pumping = NoWait(rt=rt, pump=self._pump, config=CONFIG)
        self._waves: dict[int, Wave] = {}
        noting = cast("OutputTable", NotingTable(self._table, self._waves))
        self._caller = Caller(rt=rt, link=self._link, table=noting, config=CONFIG, pumping=self._pumping)
        self._endings: dict[int, str] = {}

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How each call ended.

        Raises:
            OutputsLost: a call got another one's answer, or something of it was left behind.
        """
        self._pumping.start()
        self._rt.spawn(self._run_dispatcher, name="dispatcher").join()
        self._pump.expect_end()
        self._caller.stop()
        self._pumping.finish(CONFIG.shutdown_timeout_s)
        self._link.join()
        endings = tuple((f"echo({value})", ending) for value, ending in self._endings.items())
        if lost := [f"{who}: {ending}" for who, ending in endings if ending not in (DELIVERED, TIMED_OUT)]:
            raise OutputsLost("\n".join(lost))
        if left := self._table.describe().rpcs:
            raise OutputsLost(f"every call has ended, and yet the table holds the calls {left}")
        return endings

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of StaleReply."""
        table, tally = self._table, self._table._tally
        return {
            "dispatcher": self._project_dispatcher(pending),
            "awaited": set(table._rpcs),
            "got": tuple(set(self._waves[rpc].answers.values()) if rpc in self._waves else set() for rpc in CALLS),
            "outcome": tuple(_OUTCOMES.get(self._endings.get(rpc, ""), "answered") for rpc in CALLS),
            "overdue": set(table._overdue.values()),
            "discarded": tally.discarded_answers,
            **self._project_lanes(pending),
        }

    def _project_dispatcher(self, pending: PendingStep) -> Mapping[str, object]:
        match pending("dispatcher"):
            case (action, {"rpc": rpc}) if action in _PLACES:
                return {"at": _PLACES[action], "rpc": rpc}
            case ("Executor.Describe", _):  # for the message of the time-out
                return {"at": "abandon", "rpc": max(self._waves)}
        return {"at": "done", "rpc": 0}

    def _project_lanes(self, pending: PendingStep) -> Mapping[str, object]:
        """Tell what is on its way; what was taken off a lane but not acted upon is one step in the model."""
        requests, results = self._link.requests, self._link.results
        if not (isinstance(requests, QueueWriter) and isinstance(results, QueueLink)):
            return {}
        asked = [message.rpc for message in requests.in_flight if isinstance(message, Call)]
        match pending("worker.main"):
            case ("Worker.Reply", {"rpc": int(rpc)}):
                asked.insert(0, rpc)
        said = [*results.in_flight]
        match pending("pump"):
            case ("Pump.Reply", _):
                said.insert(0, results.last)
        answers = [{"epoch": each.epoch, "rpc": each.rpc} for each in said if isinstance(each, Returned)]
        return {"requests": tuple(asked), "results": tuple(answers)}

    def _run_dispatcher(self) -> None:
        for value in CALLS:
            self._endings[value] = self._echo(value)

    def _echo(self, value: int) -> str:
        try:
            (answer,) = self._caller.ask(lambda rpc: Call(rpc, 1, "echo", {"value": value}), f" of echo({value})")
        except Timeout:
            return TIMED_OUT
        except OmniError as error:
            return str(error)
        return DELIVERED if answer == value else f"it got the answer {answer}"


def _launch(rt: Runtime, parts: Parts) -> WorkerLink:
    link = launch_over_queues(rt, parts, pipeline=EchoingPipeline())
    assert isinstance(link.results, QueueLink)
    earlier = link.results.writer()
    earlier.send(Returned(OLD, 0, 0, 0))
    earlier.close()
    return link


def _asked_before(link: WorkerLink) -> WorkerLink:
    """Have a worker process answer a call that an earlier engine made."""
    link.requests.send(Call(OLD, 0, "echo", {"value": 0}))
    return link


_PLACES = {
    "Dispatcher.Call": "call",
    "Dispatcher.Send": "send",
    "Dispatcher.Wake": "wait",
    "Dispatcher.Abandon": "abandon",
}
_OUTCOMES = {"": "open", TIMED_OUT: "timed out"}
