"""A sleep gives back the memory that an output is being copied from, unless it waits; and the worker may be killed.

dispatcher ─ execute ─ sleep ─ wake ─► worker.main ── frees the memory
consumer ◄── pump ◄── worker.output ◄── copies from the memory

The device may be so slow that the sleep has to be refused, before the engine gives the output up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from omni_ipc import trees
from omni_ipc.device.api import DeviceEvent
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import OmniError
from omni_ipc.scenarios.launch import TaskLink, launch_over_queues
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline
from omni_ipc.scenarios.world import DELIVERED, EngineWorld, Launch, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.outputs import OutputTable

REQUEST = "r"
POISON = 0xDEADBEEF


class Memory:
    """A device's memory: whole, or given back."""

    def __init__(self, rt: Runtime) -> None:
        self.given_back = False
        rt.watch(self, None, name="Memory")


class PooledPipeline(ArrayPipeline):
    """Computes in memory that it gives back when it sleeps."""

    def __init__(self, rt: Runtime, memory: Memory) -> None:
        super().__init__()
        self._rt = rt
        self._memory = memory

    def sleep(self, level: int) -> None:
        with self._rt.region("Pipeline.Free"):
            self._memory.given_back = True

    def wake(self) -> None:
        with self._rt.region("Pipeline.Allocate"):
            self._memory.given_back = False


class PoolDevice(HostDevice):
    """Copies out of that memory; what was given back holds nonsense.

    Args:
        takes_s: until it has come to what was issued to it.
    """

    def __init__(self, rt: Runtime, memory: Memory, takes_s: float) -> None:
        self._rt = rt
        self._memory = memory
        self._takes_s = takes_s

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        if self._takes_s:
            self._rt.sleep(self._takes_s)
        with self._rt.region("Device.Copy"):
            return trees.mapped(self._copy, tree)

    def _copy(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.full_like(array, POISON) if self._memory.given_back else array.copy()


class DrainWorld(EngineWorld):
    """A dispatcher executes a request and lets the worker sleep and wake, while a consumer waits for the output."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None, *, takes_s: float = 0.0) -> None:
        self.memory = Memory(rt)
        self._takes_s = takes_s
        super().__init__(rt=rt, parts=parts, launch=launch or self._launch, requests=(REQUEST,), mint=OutputTable.mint)

    def _launch(self, rt: Runtime, parts: Parts) -> TaskLink:
        return launch_over_queues(
            rt, parts, pipeline=PooledPipeline(rt, self.memory), device=PoolDevice(rt, self.memory, self._takes_s)
        )

    def _run_dispatcher(self) -> None:
        super()._run_dispatcher()
        for method in ("sleep", "wake"):
            try:
                self.executor.call(method)
            except OmniError as error:
                self._endings[method] = str(error)

    def _is_well(self, ending: str) -> bool:
        """Who was promised something by a worker that is killed hears of that, in time."""
        return ending == DELIVERED or "The worker died: killed by SIGKILL." in ending

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        return {}
