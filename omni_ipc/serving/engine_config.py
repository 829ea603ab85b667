"""Settings of an engine."""

from __future__ import annotations

from omni_ipc.errors import UsageError
from omni_ipc.serving.config import ServingConfig


class EngineConfig(ServingConfig, frozen=True, kw_only=True):
    """Bounds of every wait, and how much is done at once.

    Args:
        max_batch: requests that are computed together, at most.
        max_waiting: requests that may wait for their turn, at most; what comes beyond is refused at the call.
        devices: of the workers, one a rank, in torch's words: "cpu", "cuda:0".
    """

    max_batch: int = 32
    max_waiting: int = 1024
    devices: tuple[str, ...] = ("cpu",)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("max_batch", "max_waiting"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)} lets no request through. Give 1 or more.")
        if not self.devices:
            raise UsageError('devices=() makes an engine of zero workers. Give one device a worker: ("cpu",).')
