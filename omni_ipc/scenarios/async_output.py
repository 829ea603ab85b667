"""The whole path at the grain of the model AsyncOutput: clients, engine and worker, and a shutdown at any moment.

submitter ─ submit ─► scheduler ─► dispatcher ══► worker.main ─► worker.output
shutdown ── shutdown ───┘              │               ║              ║
stream 1, stream 2 ◄── futures ◄── output table ◄── pump ◄════════════╝

The worker may be killed at each step: "reaper" sees that, and the pump hears of it behind all that was published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from omni_ipc.errors import OmniError, PeerClosed, PeerDied, ShutdownError, UsageError
from omni_ipc.scenarios.async_output_state import NotingSender, Path
from omni_ipc.scenarios.clients import CONFIG, SHUT_DOWN
from omni_ipc.scenarios.launch import launch_worker
from omni_ipc.scenarios.links import Packet, QueueLink
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.scenarios.world import DELIVERED, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.admission import Admission
from omni_ipc.serving.core import EngineParts
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.messages import Reply
from omni_ipc.serving.requests import Request
from omni_ipc.serving.streams import OutputStream

SUBMITTED = MappingProxyType({1: "r", 2: "s"})
"""Number of the call -> the client's name of the request."""

TASKS = MappingProxyType(
    {
        "Engine.Admit": "submitter",
        "Engine.Abort": "abort {request}",
        "Engine": "{by}",
        "Dispatcher": "dispatcher",
        "Consumer.Drop": "dispatcher",
        "Consumer": "stream {number}",
        "Stream": "stream {number}",
        "Worker.Announce": "worker.output",
        "Worker.Settle": "worker.output",
        "Worker.Close": "worker.{lane}",
        "Worker": "worker.main",
        "Pump": "pump",
        "Executor.Close": "{by}",
        "Executor": "shutdown",
    }
)
"""Who takes which step of the model."""

_VERBS = {
    "submitter": "Engine.Admit",
    "dispatcher": "Dispatcher.Take Mint Call Send Wake Abandon Forget Expect Settle Leave Consumer.Drop Engine.Close",
    "worker.main": "Worker.HandOver Drain Reply Close",
    "worker.output": "Worker.Announce Settle Close",
    "pump": "Pump.Reply Unpack TakeSplit Deliver Executor.Close Engine.Close",
    "shutdown": "Engine.Close Executor.Refuse Stop Close",
    **{f"stream {number}": "Consumer.Wait Stream.Deliver End" for number in SUBMITTED},
    **{f"abort {name}": "Engine.Abort" for name in SUBMITTED.values()},  # in other bounds of the model
}


def _steps() -> Iterator[tuple[str, str]]:
    for task, verbs in _VERBS.items():
        actor = ""
        for verb in verbs.split():
            actor = verb.partition(".")[0] if "." in verb else actor
            yield task, f"{actor}.{verb.rpartition('.')[2]}"


STEPS = frozenset(_steps())
"""Which task takes which step of the model."""

REFUSED = "refused"

DIED = "its worker died"

ENDINGS = frozenset({DELIVERED, SHUT_DOWN, REFUSED, DIED})


class MortalLink(QueueLink[Reply]):
    """Tells of a death of its writers once, behind all that they had sent, and then that nothing more will come."""

    _death: OmniError | None = None

    def die(self, death: OmniError) -> None:
        self._death = death
        for _ in range(self._open):
            self._queue.put(None)

    def receive(self, timeout: float) -> Packet[Reply]:
        try:
            return super().receive(timeout)
        except PeerClosed:
            if (death := self._death) is None:
                raise
            self._death = None
            raise death from None


class AsyncOutputWorld:
    """Clients submit, wait and abort, and somebody shuts the engine down: each task goes on at any moment."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        if launch is not None:
            raise UsageError("The worker of this scenario runs beside it. Replay it there: --on controlled.")
        self._rt = rt
        self.table = parts.table(rt=rt)
        results = MortalLink(rt=rt)
        self.link = launch_worker(rt, parts, replies=results.writer(), outputs=results.writer(), results=results)
        rt.spawn(self._reap, results, name="reaper")
        self.commands = self.link.requests = NotingSender(self.link.requests)
        self.engine = parts.engine(
            rt=rt,
            executor=Executor(rt=rt, link=self.link, table=self.table, config=CONFIG, pump=parts.pump),
            config=CONFIG,
            parts=EngineParts(
                scheduler=parts.scheduler, stream=parts.stream, streams=parts.streams, timeout=parts.timeout
            ),
        )
        self.admissions: dict[int, Admission] = {}
        self.refused: set[int] = set()
        self.endings: dict[int, str] = {}
        self._path = Path(
            numbers=[*SUBMITTED],
            scheduler=self.engine._scheduler,
            table=self.table,
            link=self.link,
            commands=self.commands,
            admissions=self.admissions,
            refused=self.refused,
        )
        self._streams: dict[int, Future[OutputStream]] = {number: rt.future() for number in SUBMITTED}

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How it ended for each client.

        Raises:
            OutputsLost: a client came to no end, or to a wrong one; or something was left behind.
        """
        tasks = [self._rt.spawn(self._submit, name="submitter")]
        tasks += [self._rt.spawn(self._consume, number, name=f"stream {number}") for number in SUBMITTED]
        tasks.append(self._rt.spawn(self.engine.shutdown, name="shutdown"))
        for task in tasks:
            task.join()
        self.link.join()
        if lost := [f"request {n}: {ending}" for n, ending in sorted(self.endings.items()) if ending not in ENDINGS]:
            raise OutputsLost("\n".join(lost))
        if self.link.death(0) is None and (dropped := self.table.tally().dropped):
            raise OutputsLost(f"{dropped} outputs had come, and were dropped, and no consumer had gone")
        left, statistics = self.table.describe(), self.engine.statistics()
        if statistics.open or any((left.waiting, left.cached, left.unsplit, left.rpcs)):
            raise OutputsLost(f"everybody has ended, {statistics.open} requests are open, and the table holds: {left}")
        return tuple((f"request {number}", ending) for number, ending in sorted(self.endings.items()))

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of AsyncOutput."""
        return self._path.project(pending)

    def _reap(self, results: MortalLink) -> None:
        self.link.join()
        if (death := self.link.death(0)) is not None:
            results.die(death)

    def _submit(self) -> None:
        for number, name in SUBMITTED.items():
            try:
                stream = self.engine.submit(Request(name))
            except (ShutdownError, PeerDied) as error:
                self.refused.add(number)
                self.endings[number] = REFUSED
                self._streams[number].set_exception(error)
            else:
                self.admissions[number] = stream._admission
                self._streams[number].set_result(stream)

    def _consume(self, number: int) -> None:
        try:
            output = self._streams[number].result().result()
        except ShutdownError:
            self.endings.setdefault(number, SHUT_DOWN)
        except PeerDied:
            self.endings.setdefault(number, DIED)
        except OmniError as error:
            self.endings[number] = str(error)
        else:
            intact = is_output_of(output.request_id, output.value)
            self.endings[number] = DELIVERED if intact else "it got another output than its own"
