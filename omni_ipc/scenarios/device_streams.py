"""A worker and the streams of its device, at the grain of the model DeviceCopy: each command of a stream is a step.

worker.main ─── issues computations ──► device.default ── compute, reach event ──┐
    │ hand over                                                                  ▼
worker.output ── issues copies ───────► device.side ───── wait for event, copy, reach event
    '─ waits for that, announces, lets go of the memory
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omni_ipc.errors import UsageError
from omni_ipc.scenarios.device_copy import DevicePipeline, ReadingSender
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.scenarios.world import CONFIG, DELIVERED, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.messages import Command, Execute, OutputReady, Reply, Stop
from omni_ipc.serving.requests import Request

if TYPE_CHECKING:
    from omni_ipc.scenarios.device_observed import ObservedDevice

OUTPUTS = ("1", "2")


class DeviceStreamsWorld:
    """Lets a worker compute the outputs one after the other, and looks at what it announces."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        self._requests: QueueLink[Command] = QueueLink(rt=rt)
        self._replies: QueueLink[Reply] = QueueLink(rt=rt)
        self._outputs: QueueLink[Reply] = QueueLink(rt=rt)
        self._device = _observed(rt, launch, self._executing)
        self._announced: dict[str, bool] = {}  # output -> whether it came as it was computed
        self._worker = parts.worker(
            rt=rt,
            requests=self._requests,
            replies=self._replies.writer(),
            outputs=ReadingSender(self._outputs.writer()),
            pipeline=DevicePipeline(self._device),
            device=self._device,
            drain_timeout_s=CONFIG.drain_timeout_s,
        )
        self._rt = rt

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How it ended for each output.

        Raises:
            OutputsLost: one came with other bytes than were computed.
        """
        commands = self._requests.writer()
        for number, output in enumerate(OUTPUTS, start=1):
            commands.send(Execute(number, 1, output, (Request(output),), split=False))
        main = self._rt.spawn(self._worker.run, name="worker.main")
        for _ in OUTPUTS:
            delivery = self._outputs.receive(timeout=CONFIG.output_timeout_s)
            assert isinstance(delivery.message, OutputReady)
            output = delivery.message.output
            self._announced[output] = is_output_of(output, delivery.unpack())
        commands.send(Stop())
        main.join()
        if spoiled := [output for output, whole in self._announced.items() if not whole]:
            raise OutputsLost(f"{', '.join(spoiled)}: it came with other bytes than were computed")
        return tuple((output, DELIVERED) for output in self._announced)

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of DeviceCopy."""
        waiting: Any = self._worker._announcer._computed
        queue = [computed.job.output for computed in waiting.queue if computed is not None]
        brought = [output for output in self._device.host if output not in self._announced]
        return {
            "next": 1 + len(self._announced) + len(brought) + len(queue),
            "queue": tuple(queue),
            "hand": brought[0] if brought else "none",
            "issued": {"default": tuple(self._device.on_default()), "side": tuple(self._device.on_side())},
            "reached": self._device.reached(),
            "device": _held(self._device.memory),
            "host": _held(self._device.host),
            "announced": {output: _ANNOUNCED[self._announced.get(output)] for output in OUTPUTS},
        }

    def _executing(self) -> str:
        """Name the output that the main loop was last told to compute."""
        return OUTPUTS[len(OUTPUTS) - len(self._requests.in_flight) - 1]


def _observed(rt: Runtime, launch: Launch | None, executing: Callable[[], str]) -> ObservedDevice:
    from omni_ipc.testbed import ControlledRuntime  # not with this module: worker processes do without the testbed

    if launch is not None or not isinstance(rt, ControlledRuntime):
        raise UsageError("The device of this scenario is simulated under control. Replay it there: --on controlled.")
    from omni_ipc.scenarios.device_observed import ObservedDevice

    return ObservedDevice(rt, executing)


def _held(blocks: Mapping[str, Any]) -> Mapping[str, str]:
    return {output: "whole" if output in blocks and not blocks[output].is_poison else "poison" for output in OUTPUTS}


_ANNOUNCED = {None: "no", True: "whole", False: "spoiled"}
