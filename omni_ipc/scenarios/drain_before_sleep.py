"""A worker alone, which is told to compute, to sleep and to wake, at the grain of the model DrainBeforeSleep.

commands ─► worker.main ── counts outputs, drains, frees the memory
                │
                └─► worker.output ── copies outputs from the memory, announces them, counts them off

No time is waited for: whenever a drain goes on, its time is up, and it is refused if something is in flight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omni_ipc.errors import UsageError
from omni_ipc.records import Field
from omni_ipc.scenarios.drain import Memory, PoolDevice, PooledPipeline
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.scenarios.world import DELIVERED, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.messages import Call, CallFailed, Command, Execute, OutputReady, Reply, Returned, Stop
from omni_ipc.serving.requests import Request

PROGRAM = ("1", "sleep", "wake", "2", "sleep")
OUTPUTS = tuple(command for command in PROGRAM if command not in ("sleep", "wake"))
PATIENCE_S = 30.0  # more than somebody who conducts real threads waits for a step
DONE = "done"
REFUSED = "refused"


class DrainBeforeSleepWorld:
    """Lets a worker follow the program, and looks at what it announced, and what it refused."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        if launch is not None:
            raise UsageError("The worker of this scenario runs beside it. Replay it there: --on controlled.")
        self._rt = rt
        self._memory = Memory(rt)
        self._device = PoolDevice(rt, self._memory, takes_s=0)
        self._requests: QueueLink[Command] = QueueLink(rt=rt)
        self._replies: QueueLink[Reply] = QueueLink(rt=rt)
        self._outputs: QueueLink[Reply] = QueueLink(rt=rt)
        self._answers: list[Reply] = []
        self._announced: list[OutputReady] = []
        self._worker = parts.worker(
            rt=rt,
            requests=self._requests,
            replies=self._replies.writer(),
            outputs=self._outputs.writer(),
            pipeline=PooledPipeline(rt, self._memory),
            device=self._device,
            drain_timeout_s=0,
        )

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How it ended for each command.

        Raises:
            OutputsLost: an output did not come, or came with other bytes than were computed.
        """
        commands = self._requests.writer()
        for number, command in enumerate(PROGRAM, start=1):
            commands.send(_message(number, command))
        main = self._rt.spawn(self._worker.run, name="worker.main")
        for _ in PROGRAM:
            self._answers.append(self._replies.receive(timeout=PATIENCE_S).message)
        endings = [*self._outputs_came(), *self._calls_ended()]
        in_flight = self._worker._announcer.in_flight
        with in_flight._changed:  # whatever a stop does to what still is, is another story
            in_flight._changed.wait_for(lambda: not in_flight._jobs)
        commands.send(Stop())
        main.join()
        if lost := [f"{who}: {ending}" for who, ending in endings if ending not in (DELIVERED, DONE, REFUSED)]:
            raise OutputsLost("\n".join(lost))
        return tuple(endings)

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of DrainBeforeSleep."""
        hand = self._project_hand(pending("worker.output"))
        said = [*self._announced, *(each for each in self._outputs.in_flight if isinstance(each, OutputReady))]
        whole = {message.output: held for message, held in zip(said, self._device.copies, strict=False)}
        return {
            "next": 1 + len(self._answers) + len(self._replies.in_flight),
            "drained": (pending("worker.main") or ("",))[0] == "Pipeline.Free",
            "asleep": self._worker._memory._level > 0,
            "given_back": self._memory.times_given_back,
            "in_flight": {job.output for job in self._worker._announcer.in_flight._jobs},
            "queue": tuple(self._project_queue()),
            "hand": hand,
            "announced": {output: _ANNOUNCED[whole.get(output)] for output in OUTPUTS},
        }

    def _project_queue(self) -> Iterator[Mapping[str, object]]:
        """What is in the output thread's queue, behind what it has taken out and not yet copied."""
        copied, taken = len(self._device.copies), len(self._device.after)
        for number in range(copied, taken):
            yield {"output": OUTPUTS[number], "since": self._device.after[number].times_given_back}
        waiting: Any = self._worker._announcer._computed
        for computed in [*waiting.queue]:
            if computed is not None:
                yield {"output": computed.job.output, "since": computed.event.times_given_back}

    def _project_hand(self, step: tuple[str, Mapping[str, Field]] | None) -> Mapping[str, object]:
        match step:
            case ("Worker.Announce" | "Worker.Settle" as action, {"output": output}):
                return {"at": _PLACES[action], "output": output, "whole": self._device.copies[-1]}
        return {"at": "idle", "output": "none", "whole": False}

    def _outputs_came(self) -> Iterator[tuple[str, str]]:
        for _ in OUTPUTS:
            delivery = self._outputs.receive(timeout=PATIENCE_S)
            assert isinstance(delivery.message, OutputReady)
            self._announced.append(delivery.message)
            output = delivery.message.output
            intact = is_output_of(output, delivery.unpack())
            yield output, DELIVERED if intact else "it came with other bytes than were computed"

    def _calls_ended(self) -> Iterator[tuple[str, str]]:
        for command, answer in zip(PROGRAM, self._answers, strict=True):
            match answer:
                case Returned():
                    yield command, DONE
                case CallFailed(error=error):
                    yield command, REFUSED if "still in flight" in error.message else error.message


def _message(number: int, command: str) -> Command:
    if command in OUTPUTS:
        return Execute(number, 1, command, (Request(command),), split=False)
    return Call(number, 1, command)


_PLACES = {"Worker.Announce": "announce", "Worker.Settle": "settle"}
_ANNOUNCED = {None: "no", True: "whole", False: "spoiled"}
