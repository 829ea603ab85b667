"""An engine with its worker, as the model AsyncOutput sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omni_ipc.errors import ShutdownError
from omni_ipc.records import Field
from omni_ipc.scenarios.launch import TaskLink
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.world import PendingStep
from omni_ipc.serving.admission import Admission
from omni_ipc.serving.links import Sender
from omni_ipc.serving.messages import Command, ComputeDone, Execute, OutputReady, Reply, Stop
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.scheduler import Scheduler
from omni_ipc.serving.waves import Wave

NONE = "none"
IDLE: Mapping[str, Field] = {"at": "idle", "output": NONE}


class NotingSender:
    """The engine's end of the request lane; notes what was sent on it."""

    def __init__(self, sender: Sender[Command]) -> None:
        self.sent: list[Command] = []
        self._sender = sender

    def send(self, message: Command, payload: Any = None) -> None:
        self.sent.append(message)
        self._sender.send(message, payload)

    def close(self) -> None:
        self._sender.close()


class Path:
    """Looks at the whole path.

    Args:
        admissions: of the requests that were admitted, by number.
        refused: the numbers of those that were not.
    """

    def __init__(
        self,
        *,
        numbers: Sequence[int],
        scheduler: Scheduler,
        table: OutputTable,
        link: TaskLink,
        commands: NotingSender,
        admissions: Mapping[int, Admission],
        refused: set[int],
    ) -> None:
        self._numbers = numbers
        self._scheduler = scheduler
        self._table = table
        self._link = link
        self._commands = commands
        self._admissions = admissions
        self._refused = refused
        self._waves: dict[int, Wave] = {}  # all that ever were in the table

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Give the variables of AsyncOutput, but for its ghosts."""
        return {
            **self._project_scheduler(),
            "stream": {number: self._stream(number, pending) for number in self._numbers},
            **self._project_table(pending),
            **self._project_worker(pending),
            **self._project_links(pending),
            "pump": _pump(pending),
            "shutdown": _shutdown(pending, stopped=Stop() in self._commands.sent),
        }

    def _project_scheduler(self) -> Mapping[str, object]:
        scheduler = self._scheduler
        return {
            "submitted": len(self._admissions) + len(self._refused),
            "waiting": set(scheduler._waiting),
            "outcome": {number: self._outcome(number) for number in self._numbers},
            "computed": {number: self._computed(number) for number in self._numbers},
            "closed": _why(scheduler._closed),
            "aborting": set(),
        }

    def _outcome(self, number: int) -> str:
        if number in self._refused:
            return "refused"
        admission = self._admissions.get(number)
        return "absent" if admission is None else str(admission.outcome or "open").replace("_", " ")

    def _computed(self, number: int) -> str:
        admission = self._admissions.get(number)
        if admission is None or not admission.computed.done():
            return "pending"
        return "failed" if admission.computed.exception() else str(admission.computed.result().output)

    def _stream(self, number: int, pending: PendingStep) -> str:
        admission = self._admissions.get(number)
        match pending(f"stream {number}"):
            case (("Consumer.Wait" | "Stream.Deliver" | "Stream.End") as region, _):
                return region.partition(".")[2]
            case None if number not in self._refused:
                return "ended"
        if admission is None:
            return "absent"
        return "asking" if admission.computed.done() else "computing"

    def _project_table(self, pending: PendingStep) -> Mapping[str, object]:
        table = self._table
        self._waves |= table._rpcs
        last = max(self._waves, default=0)
        return {
            "at": {"dispatcher": _dispatcher(pending)},
            "call": {"dispatcher": last},
            "answer": {"dispatcher": _answer(self._waves.get(last))},
            "errands": (),
            "minted": table._ledger._last,
            "asked": set(table._rpcs),
            "open": {output for opened in table._ledger._open.values() for output in opened},
            "registered": set(table._waiting),
            "cached": set(table._cached),
            "splits": set(table._splits),
            "unsplit": set(table._unsplit),
            "refusing": _why(table._closed),
        }

    def _project_worker(self, pending: PendingStep) -> Mapping[str, object]:
        worker, is_alive = self._link.worker, self._link.death(0) is None
        main: Mapping[str, Field] = {"at": "idle", "rpc": 0, "answer": NONE}
        match pending("worker.main"):
            case ("Worker.Reply", {"rpc": int(rpc)}):
                main = {"at": "Reply", "rpc": rpc, "answer": "done"}
            case None:
                main = {"at": "ended", "rpc": 0, "answer": NONE}
        courier = pending("worker.output")
        return {
            "main": main,
            "courier": "ended" if courier is None else "Settle" if courier[0] == "Worker.Settle" else "idle",
            "inflight": tuple(job.output for job in worker._announcer.in_flight._jobs) if is_alive else (),
            "asleep": worker._memory._level > 0,
            "alive": is_alive,
        }

    def _project_links(self, pending: PendingStep) -> Mapping[str, object]:
        closed = {"main": "worker.main", "output": "worker.output"}
        is_alive = self._link.death(0) is None
        return {
            "commands": tuple(_command(message) for message in self._unserved(pending)) if is_alive else (),
            "lanes": {"results": tuple(self._on_their_way(pending))},
            "said": {thread for thread, task in closed.items() if is_alive and pending(task) is None},
        }

    def _unserved(self, pending: PendingStep) -> Sequence[Command]:
        """Tell what was sent, and is not served: the main loop may have taken it, and not begun."""
        requests = self._link.worker._requests
        assert isinstance(requests, QueueLink)
        left = len(requests.in_flight)
        taken = self._commands.sent[: len(self._commands.sent) - left]
        match taken[-1:], pending("worker.main"):
            case ([Execute()], ("Worker.HandOver", _)) | ([Stop()], (_, _)):
                left += 1
        return self._commands.sent[len(self._commands.sent) - left :]

    def _on_their_way(self, pending: PendingStep) -> Iterator[Mapping[str, Field]]:
        """Tell what the worker has said, and the pump not heard: it may have taken it, and not begun."""
        match pending("pump"):
            case ("Pump.Reply", {"rpc": int(rpc)}):
                yield _done(rpc)
            case ("Pump.Unpack", {"output": str(output)}):
                yield _ready(output)
        results = self._link.results
        assert isinstance(results, QueueLink)
        for message in results.in_flight:
            yield _reply(message)


def _why(error: BaseException | None) -> str:
    return NONE if error is None else "shut down" if isinstance(error, ShutdownError) else "error"


def _answer(wave: Wave | None) -> str:
    if wave is None or not wave.decided.done():
        return NONE
    if wave.decided.exception() is not None:
        return _why(wave.decided.exception())
    return "failed" if isinstance(wave.answers[0], BaseException) else "done"


def _dispatcher(pending: PendingStep) -> str:
    match pending("dispatcher"):
        case None:
            return "ended"
        case ("condition.wake", _):
            return "idle"
        case (region, _) if "." in region and region.partition(".")[0] in ("Dispatcher", "Consumer", "Engine"):
            return region.partition(".")[2]
    return "calling"


def _pump(pending: PendingStep) -> Mapping[str, Field]:
    match pending("pump"):
        case ("Pump.Deliver", {"output": str(output)}) | ("Pump.TakeSplit", {"batch": str(output)}):
            return {"at": "unpacked", "output": output}
        case ("Engine.Close", _):
            return {"at": "Tell", "output": NONE}
        case None:
            return {"at": "ended", "output": NONE}
    return IDLE


def _shutdown(pending: PendingStep, *, stopped: bool) -> str:
    match pending("shutdown"):
        case None:
            return "ended"
        case ("Engine.Close", _):
            return "Close"
        case ("Executor.Stop", _):
            return "Stop"
    return "stopping" if stopped else "joining"


def _command(message: Command) -> Mapping[str, Field]:
    match message:
        case Execute(rpc=rpc, output=output):
            return {"rpc": rpc, "does": output}
        case Stop():
            return {"rpc": 0, "does": "stop"}
    raise AssertionError(f"{message} is not of this model")


def _reply(message: Reply) -> Mapping[str, Field]:
    match message:
        case ComputeDone(rpc=rpc):
            return _done(rpc)
        case OutputReady(output=output):
            return _ready(output)
    raise AssertionError(f"{message} is not of this model")


def _done(rpc: int) -> Mapping[str, Field]:
    return {"says": "done", "rpc": rpc, "output": NONE}


def _ready(output: str) -> Mapping[str, Field]:
    return {"says": "ready", "rpc": 0, "output": output}
