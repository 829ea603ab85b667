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
from omni_ipc.device.host import HostDevice, HostEvent
from omni_ipc.errors import OmniError
from omni_ipc.scenarios.launch import TaskLink, launch_over_queues
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline
from omni_ipc.scenarios.world import CONFIG, DELIVERED, EngineWorld, Launch, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.outputs import OutputTable

REQUEST = "r"
KILLED = "died: killed by SIGKILL."
REFUSED = f"was not done: 1 outputs ('1') were still in flight after {CONFIG.drain_timeout_s:g} s."


class Memory:
    """A device's memory, which holds what was computed until it is given back."""

    def __init__(self, rt: Runtime) -> None:
        self.times_given_back = 0
        rt.watch(self, None, name="Memory")


class PooledPipeline(ArrayPipeline):
    """Computes in memory that it gives back when it sleeps."""

    def __init__(self, rt: Runtime, memory: Memory) -> None:
        super().__init__()
        self._rt = rt
        self._memory = memory

    def sleep(self, level: int) -> None:
        """Give memory back.

        Spec: PipelineFree
        """
        with self._rt.region("Pipeline.Free"):
            self._memory.times_given_back += 1

    def wake(self) -> None:
        """Take other memory: what was in the first is gone."""


class PoolEvent(HostEvent):
    """Knows since when the memory holds what was computed."""

    def __init__(self, times_given_back: int) -> None:
        self.times_given_back = times_given_back


class PoolDevice(HostDevice):
    """Copies out of that memory; what was given back since holds nonsense.

    Args:
        takes_s: until it has come to what was issued to it.
    """

    def __init__(self, rt: Runtime, memory: Memory, takes_s: float) -> None:
        self._rt = rt
        self._memory = memory
        self._takes_s = takes_s
        self.after: list[PoolEvent] = []  # what was copied, or is being; used by one task alone
        self.copies: list[bool] = []  # of each, once it was: whether the memory was still held

    def record(self) -> PoolEvent:
        with self._rt.region("Device.Record"):
            return PoolEvent(self._memory.times_given_back)

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        """Copy out of the memory, be it still held or not.

        Spec: DeviceCopy
        """
        assert isinstance(after, PoolEvent)
        self.after.append(after)
        if self._takes_s:
            self._rt.sleep(self._takes_s)
        with self._rt.region("Device.Copy"):
            held = self._memory.times_given_back == after.times_given_back
            self.copies.append(held)
        return trees.mapped(np.copy if held else _nonsense, tree)


def _nonsense(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.full_like(array, 0xDEADBEEF)


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
        """A sleep that would come too early is refused, and who asked a worker that was killed hears of that."""
        return ending == DELIVERED or REFUSED in ending or KILLED in ending

    def _why_silent(self) -> str:
        death = self.link.death(0)
        return f": {death}" if death is not None else ""

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        return {}
