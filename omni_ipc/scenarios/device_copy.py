"""A device that computes and copies on streams of its own: the copy of an output may come too early, or end too late.

dispatcher ─► worker.main ── issues the computation ──► device.default ┐ event
consumer ◄─ pump ◄─ worker.output ◄── waits for the copy ── device.side ◄┘

Under control alone: a simulated device is as late as it may be, where a real one mostly is in time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from omni_ipc import trees
from omni_ipc.errors import UsageError
from omni_ipc.scenarios.launch import TaskLink, launch_worker
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline
from omni_ipc.scenarios.world import EngineWorld, Launch, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Sender
from omni_ipc.serving.messages import Reply
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.requests import Request

if TYPE_CHECKING:
    from omni_ipc.testbed.devices import SimulatedDevice

REQUEST = "r"


class DevicePipeline(ArrayPipeline):
    """Issues its computations to a simulated device."""

    def __init__(self, device: SimulatedDevice) -> None:
        super().__init__()
        self._device = device

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        return [self._device.compute(lambda request=request: self._compute(request)) for request in batch]

    def _compute(self, request: Request) -> Any:
        return super().forward((request,))[0]


class DeviceCopyWorld(EngineWorld):
    """A dispatcher executes a request; then its consumer waits for the output."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        super().__init__(rt=rt, parts=parts, launch=launch or _launch, requests=(REQUEST,), mint=OutputTable.mint)

    def _engage(self) -> None:
        """One after the other: the race is on the device."""
        self._run_dispatcher()
        for output in self.outputs:
            self._consume(output)

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        return {}


def _launch(rt: Runtime, parts: Parts) -> TaskLink:
    from omni_ipc.testbed import ControlledRuntime  # not with this module: worker processes do without the testbed
    from omni_ipc.testbed.devices import SimulatedDevice

    if not isinstance(rt, ControlledRuntime):
        raise UsageError("The device of this scenario is simulated under control. Replay it there: --on controlled.")
    device = SimulatedDevice(rt)
    results: QueueLink[Reply] = QueueLink(rt=rt)
    return launch_worker(
        rt,
        parts,
        replies=results.writer(),
        outputs=ReadingSender(results.writer()),
        results=results,
        pipeline=DevicePipeline(device),
        device=device,
    )


class ReadingSender:
    """A sender that reads what it sends, as every real one does: later it would find what came meanwhile."""

    def __init__(self, sender: Sender[Reply]) -> None:
        self._sender = sender
        self.close = sender.close

    def send(self, message: Reply, payload: Any = None) -> None:
        self._sender.send(message, trees.mapped(_read, payload))


def _read(leaf: Any) -> Any:
    return leaf.read() if hasattr(leaf, "read") else leaf
