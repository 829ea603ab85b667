"""A pipeline that computes on conducted streams."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from omni_ipc.device.api import Device
from omni_ipc.scenarios.pipelines import TensorPipeline
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.requests import Request

if TYPE_CHECKING:
    import torch

    from omni_ipc.stress.devices.memory import OutputMemory


class Streams(Device, Protocol):
    """A device that outputs can be computed on, later.

    Attributes:
        held_back_by: "the device" itself, or "tasks" in its place.
    """

    held_back_by: str

    @property
    def memory(self) -> OutputMemory:
        """What outputs are computed into."""

    def prepare(self, fn: Callable[[], torch.Tensor], count: int) -> None:
        """Do once what will be computed and copied, while nothing is held back."""


class StreamPipeline(TensorPipeline):
    """Issues its computations to a device of `open_streams`, and gives all of its memory back when it sleeps.

    Args:
        opened: that device.
        count: numbers in each output.
    """

    def __init__(self, rt: Runtime, opened: Streams, count: int = 65_536) -> None:
        super().__init__(opened.name, count)
        self._rt = rt
        self._opened = opened
        self._count = count
        opened.prepare(functools.partial(self._compute, Request("to prepare")), count)

    def forward(self, batch: Sequence[Request]) -> list[torch.Tensor]:
        compute = self._opened.memory.compute
        return [compute(functools.partial(self._compute, request), self._count) for request in batch]

    def sleep(self, level: int) -> None:
        """Give memory back.

        Spec: PipelineFree
        """
        with self._rt.region("Pipeline.Free"):
            self._opened.memory.give_back()
            self._opened.synchronize()

    def wake(self) -> None:
        """Take other memory: what was in the first is gone."""

    def _compute(self, request: Request) -> torch.Tensor:
        return super().forward((request,))[0]
