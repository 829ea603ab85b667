"""Settings of an engine."""

from __future__ import annotations

from typing import Any

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.spec import NATIVE
from omni_ipc.transport.geometry import DEFAULT_CLASSES, Geometry, SlotClass


class EngineConfig(ServingConfig, frozen=True, kw_only=True):
    """Bounds of every wait, and how much is done at once.

    Args:
        workers: processes, one a rank; all compute every batch, and rank 0 answers.
        device: of each worker, in torch's words, with "{rank}" for its rank: "cpu", "cuda:{rank}".
        max_batch: requests that are computed together, at most.
        max_waiting: requests that may wait for their turn, at most; what comes beyond is refused at the call.
        output_slots: bytes (rising powers of two) and number of the slots that outputs come in. The default has room
            for 64 MiB of each size; what finds no slot within a second goes through the lane, which takes longer. A
            slot costs memory from its first use on.
        start_timeout_s: how long a worker may take to start, and to build its pipeline.
        worker_runtime: what makes each worker's `Runtime`, by its import path: one that records, or measures.
        worker_runtime_options: that it is called with; and with the worker's ``rank``, if it has a parameter for it.
    """

    workers: int = 1
    device: str = "cpu"
    max_batch: int = 32
    max_waiting: int = 1024
    output_slots: tuple[tuple[int, int], ...] = DEFAULT_CLASSES
    start_timeout_s: float = 60.0
    worker_runtime: str = NATIVE
    worker_runtime_options: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("workers", "max_batch", "max_waiting"):
            value = getattr(self, name)
            if type(value) is not int:
                raise UsageError(f"{name}={value!r} is no whole number. Give 1 or more.")
            if value < 1:
                raise UsageError(f"{name}={value} lets no request through. Give 1 or more.")
        device: object = self.device
        if not isinstance(device, str) or not device:
            raise UsageError(f"device={self.device!r} names no device. Give 'cpu', 'cuda:{{rank}}' or 'xpu:{{rank}}'.")
        try:
            Geometry([SlotClass(*each) for each in self.output_slots])
        except (TypeError, UsageError) as error:
            raise UsageError(
                f"output_slots={self.output_slots!r} cannot be had: {error} Give pairs, (bytes, slots)."
            ) from None
