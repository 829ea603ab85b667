"""A render whose output comes long after its forward was said to be done: the copy queues behind the device's work."""

from __future__ import annotations

from types import MappingProxyType

from omni_ipc.scenarios.answering import EXECUTION_S, STAGES
from omni_ipc.scenarios.clients import ClientWorld
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.world import DELIVERED, Launch
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import RequestOutput

LATE_S = 45.0
TOLD = "told"


class LongRenderWorld(ClientWorld):
    """One client waits for it, is served, and is told the times as they were."""

    allowed = MappingProxyType({"client": {DELIVERED}, "times": {TOLD}})
    config = EngineConfig(poll_s=10.0)
    output_after_s = LATE_S

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        self._is_process = launch is not None
        super().__init__(rt, parts, launch)

    async def _serve(self) -> None:
        with self._ending("client"):
            took = await self._engine.submit(Request("r")).output()
            self._served("client", took)
            self._endings["times"] = TOLD if self._are_right(took) else _complaint(took)

    def _are_right(self, took: RequestOutput) -> bool:
        """Tell whether the times are as they were; a worker process is as late as it is let, and computes about so."""
        if took.stage_durations_s != STAGES:
            return False
        if self._is_process:
            return took.output_ready_wait_time_s > 0 and abs(took.execution_time_s - EXECUTION_S) < EXECUTION_S / 2
        return (took.execution_time_s, took.output_ready_wait_time_s) == (EXECUTION_S, LATE_S)


def _complaint(took: RequestOutput) -> str:
    return (
        f"an execution of {EXECUTION_S:g} s and a wait of {LATE_S:g} s were told as "
        f"{took.execution_time_s:g} s and {took.output_ready_wait_time_s:g} s, "
        f"with the stages {', '.join(took.stage_durations_s)}"
    )
