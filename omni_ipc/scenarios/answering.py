"""A worker without threads: its answers are there as soon as a command was sent; for worlds of what an engine does.

And the pipeline with which a worker process answers the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.pipelines import ArrayPipeline, TensorPipeline
from omni_ipc.seam.api import Runtime, Task
from omni_ipc.serving.messages import Command, ComputeDone, Execute, OutputReady, Reply, Stop

if TYPE_CHECKING:
    import torch

    from omni_ipc.serving.requests import Request

EXECUTION_S = 2.0
STAGES = {"denoise": 1.5}


class AnsweringWorker:
    """The link to a worker that takes no time, and is its own sending end.

    Args:
        output_after_s: how long after "compute done" an output comes.
    """

    ranks = 1

    def __init__(self, rt: Runtime, *, output_after_s: float = 0.0) -> None:
        self.requests = self
        self.results: QueueLink[Reply] = QueueLink(rt=rt)
        self._rt = rt
        self._output_after_s = output_after_s
        self._replies = self.results.writer()
        self._announcing: list[Task] = []

    def send(self, message: Command, payload: Any = None) -> None:
        """Answer a command."""
        if isinstance(message, Execute):
            with self._rt.region("Worker.Answer", output=message.output):
                self._replies.send(ComputeDone(message.rpc, message.epoch, 0, EXECUTION_S, STAGES))
                if not self._output_after_s:
                    self._announce(message)
            if self._output_after_s:
                self._announcing.append(
                    self._rt.spawn(self._announce_late, message, name=f"worker.output {message.output}")
                )
        elif isinstance(message, Stop):
            for task in self._announcing:
                task.join()
            self._replies.close()

    def close(self) -> None:
        """Say that nothing more will come."""

    def stopped(self, rank: int) -> None:
        """Tasks are not stopped by signals."""

    def death(self, rank: int) -> None:
        """Tell that it lives."""

    def join(self) -> None:
        """Wait for nothing: it has ended with `Stop`."""

    def _announce_late(self, message: Execute) -> None:
        self._rt.sleep(self._output_after_s)
        with self._rt.region("Worker.Announce", output=message.output):
            self._announce(message)

    def _announce(self, message: Execute) -> None:
        values = ArrayPipeline().forward(message.requests)
        self._replies.send(OutputReady(message.output, message.split), values if message.split else values[0])


class RenderingPipeline(TensorPipeline):
    """Takes as long as that worker says, and tells of the same stages."""

    def __init__(self, rt: Runtime, device: str) -> None:
        super().__init__(device)
        self._rt = rt

    def forward(self, batch: Sequence[Request]) -> list[torch.Tensor]:
        self._rt.sleep(EXECUTION_S)
        return super().forward(batch)

    def stage_durations_s(self) -> dict[str, float]:
        """Tell what the stages of any render take."""
        return STAGES
