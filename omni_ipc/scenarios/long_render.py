"""A render whose output comes long after its forward was said to be done: the copy queues behind the device's work."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from omni_ipc.scenarios.answering import EXECUTION_S, STAGES
from omni_ipc.scenarios.clients import ClientWorld
from omni_ipc.scenarios.world import DELIVERED
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request

LATE_S = 45.0
TOLD = "told"


class LongRenderWorld(ClientWorld):
    """One client waits for it, is served, and is told the times as they were."""

    allowed = MappingProxyType({"client": {DELIVERED}, "times": {TOLD}})
    config = EngineConfig(poll_s=10.0)
    output_after_s = LATE_S

    async def _serve(self) -> None:
        with self._ending("client"):
            took = await self._engine.submit(Request("r")).output()
            self._served("client", took)
            times = (took.execution_time_s, took.output_ready_wait_time_s, took.stage_durations_s)
            self._endings["times"] = TOLD if times == (EXECUTION_S, LATE_S, STAGES) else _complaint(*times)


def _complaint(execution_s: float, wait_s: float, stages: Mapping[str, float]) -> str:
    return (
        f"an execution of {EXECUTION_S:g} s and a wait of {LATE_S:g} s were told as "
        f"{execution_s:g} s and {wait_s:g} s, with the stages {', '.join(stages)}"
    )
