"""A pump between a worker and its consumers, at the grain of the model PumpSurvival: what ends it, and what does not.

worker.output ─ announce ─► lane ─► pump ─► futures ◄─ consumers: one that may leave, one that stays
fault ─ break the lane ───────▲

The first output's message cannot be read, and its consumer may leave at any moment; the second's is none the worse for
it. In the end the lane breaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from omni_ipc.errors import LaneBroken, OmniError, UsageError
from omni_ipc.records import Field
from omni_ipc.scenarios.answering import AnsweringWorker
from omni_ipc.scenarios.links import Packet, QueueLink
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline, is_output_of
from omni_ipc.scenarios.world import CONFIG, DELIVERED, END, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.messages import OutputReady, Reply
from omni_ipc.serving.requests import Request

OUTPUTS = ("1", "2")
UNREADABLE = ("1",)
LEAVING = ("1",)
BREAK = "broken"
GONE = "gone"
ALLOWED = {"1": {BREAK, GONE, "not readable"}, "2": {DELIVERED, BREAK}}


class Unreadable(Packet[Reply]):
    """A message whose payload is nonsense."""

    def unpack(self) -> NoReturn:
        raise ValueError("nonsense")


class BreakableLink(QueueLink[Reply]):
    """Has messages that cannot be read, and may break."""

    def receive(self, timeout: float) -> Packet[Reply]:
        packet = super().receive(timeout)
        assert isinstance(packet.message, OutputReady)
        if packet.message.output == BREAK:
            raise LaneBroken("The lane holds no record. Start anew.")
        return Unreadable(packet.message, None) if packet.message.output in UNREADABLE else packet


class PumpSurvivalWorld:
    """Lets consumers wait, leave, and be served, until the lane breaks."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        if launch is not None:
            raise UsageError("The worker of this scenario is a task of its own. Replay it there: --on controlled.")
        self._rt = rt
        self._table = parts.table(rt=rt)
        self._link = AnsweringWorker(rt)
        self._results = self._link.results = BreakableLink(rt=rt)
        self._lane = self._results.writer()
        self._executor = Executor(rt=rt, link=self._link, table=self._table, config=CONFIG, pump=parts.pump)
        self._minted = [self._executor.mint(1).output for _ in OUTPUTS]
        self._futures: dict[str, Future[Any]] = {}
        self._endings: dict[str, str] = {}
        self._announced = 0
        self._broken = False

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How it ended for each consumer.

        Raises:
            OutputsLost: a consumer did not get what was promised, or a dead pump was not told of.
        """
        self._executor.start()
        tasks = [
            self._rt.spawn(self._announce, name="worker.output"),
            self._rt.spawn(self._break_lane, name="fault"),
            *(self._rt.spawn(self._consume, output, name=f"consumer {output}") for output in self._minted),
        ]
        for task in tasks:
            task.join()
        self._executor._pumping.finish(CONFIG.shutdown_timeout_s)
        with self._rt.region(END):
            pass
        endings = tuple(sorted(self._endings.items()))
        if lost := [f"{who}: {ending}" for who, ending in endings if ending not in ALLOWED[who]]:
            raise OutputsLost("\n".join(lost))
        self._judge_health()
        self._executor.shutdown()
        return endings

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of PumpSurvival."""
        table = self._table
        return {
            "unsent": OUTPUTS[self._announced :],
            "broken": self._broken,
            **self._project_arrival(pending("pump")),
            "open": {output for output in OUTPUTS if table._ledger.is_open(output)},
            "registered": set(table._waiting),
            "cached": set(table._cached),
            "waiter": {output: self._project_waiter(output, pending) for output in OUTPUTS},
            "stayed": {output for output in LEAVING if self._project_waiter(output, pending) in _SETTLED}
            & set(self._endings),
            "closed": table._closed is not None,
            "healthy": self._executor._health._failure is None,
            "unread": self._executor._pump.bad_messages,
        }

    def _project_arrival(self, step: tuple[str, Mapping[str, Field]] | None) -> Mapping[str, object]:
        """Tell what is in the lane; what was taken off it and not acted upon is one step in the model."""
        inbox = [each.output for each in self._results.in_flight if isinstance(each, OutputReady)]
        last = self._results.last.output if isinstance(self._results.last, OutputReady) else ""
        at, output = "idle", "none"
        match step:
            case ("Pump.Unpack", {"output": str(taken)}):
                inbox.insert(0, taken)
            case ("Pump.Deliver", {"output": str(output), **others}):
                at = "holding" if others.get("holding") else "unpacked"
            case ("Executor.Close", _) if last == BREAK:
                inbox.insert(0, BREAK)
            case ("Executor.Close", _):
                at = "dying"
            case None:
                at = "dead"
        return {"inbox": tuple(inbox), "pump": {"at": at, "output": output}}

    def _project_waiter(self, output: str, pending: PendingStep) -> str:
        future = self._futures.get(output)
        if future is None:
            return "refused" if output in self._endings else "absent"
        if not future.done():
            return "waiting"
        if future.cancelled():
            return "gone" if pending(f"consumer {output}") is None else "leaving"
        return "served" if future.exception() is None else "failed"

    def _announce(self) -> None:
        """Announce the outputs in order.

        Spec: WorkerAnnounce
        """
        for name in self._minted:
            with self._rt.region("Worker.Announce", output=name):
                (value,) = ArrayPipeline().forward((Request(name),))
                self._lane.send(OutputReady(name, split=False), value)
                self._announced += 1

    def _break_lane(self) -> None:
        """Let nothing be readable from here on.

        Spec: FaultBreakLane
        """
        with self._rt.region("Fault.BreakLane"):
            self._broken = True
            self._lane.send(OutputReady(BREAK, split=False))

    def _consume(self, output: str) -> None:
        try:
            future = self._futures[output] = self._executor.wait(output)
            if output in LEAVING and self._left(output, future):
                self._endings[output] = GONE
                return
            intact = is_output_of(output, future.result())
        except OmniError as error:
            self._endings[output] = _ending(error)
        else:
            self._endings[output] = DELIVERED if intact else "it came with other bytes than were computed"

    def _left(self, output: str, future: Future[Any]) -> bool:
        """Give up, unless it is too late for that.

        Spec: ConsumerCancel
        """
        with self._rt.region("Consumer.Cancel", output=output):
            has_left = future.cancel()
        if has_left:
            self._executor.drop(output)
        return has_left

    def _judge_health(self) -> None:
        try:
            self._executor.check_health()
        except LaneBroken:
            return
        raise OutputsLost("the lane is broken, and health is good")


def _ending(error: OmniError) -> str:
    if isinstance(error, LaneBroken):
        return BREAK
    return "not readable" if "could not be handled" in str(error) else str(error)


_SETTLED = ("served", "failed")
