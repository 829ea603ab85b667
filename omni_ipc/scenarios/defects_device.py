"""Faults at the device: memory that is given back, or read, too early."""

from __future__ import annotations

from omni_ipc.serving.announcer import Computed
from omni_ipc.serving.links import Delivery
from omni_ipc.serving.messages import Command, ComputeDone, Execute
from omni_ipc.serving.worker import Worker


class SleepWithoutDrain(Worker):
    """Gives device memory back while the output thread still copies from it."""

    def _drain(self, what: str) -> None:
        with self._rt.region("Worker.Drain"):
            return


class UnsynchronisedCopy(Worker):
    """Marks what the device had been given before the forward, so that the copy does not wait for the forward."""

    def _compute(self, job: Execute, delivery: Delivery[Command]) -> tuple[Computed, ComputeDone]:
        too_early = self._device.record()
        computed, done = super()._compute(job, delivery)
        return computed._replace(event=too_early), done
