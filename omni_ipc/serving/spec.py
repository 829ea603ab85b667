"""What the engine tells a host process, what that answers, and which memory goes with it."""

from __future__ import annotations

from typing import Any

import msgspec

from omni_ipc.transport import wire

MESSAGE_BYTES = 65_536

NATIVE = "omni_ipc.seam.native:NativeRuntime"

SEND_TIMEOUT_S = 60.0
"""How long either side waits for room on a lane: a reader that takes nothing for so long is stuck."""

MOST_BYTES = 1 << 40
"""Of one message between engine and worker: no bound but memory, which both sides use as the bytes come."""

LANES = ("requests", "worker.main", "worker.output")
DOORBELLS = ("engine.bell", "worker.bell")
SLAB = "worker.slab"
ENGINE_SLAB = "engine.slab"

SEGMENTS = (*LANES, *DOORBELLS, SLAB, ENGINE_SLAB)
"""In the order of their descriptors, which travel beside a spec."""


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a host is to run; classes by import path, "package.module:Class".

    Args:
        worker: a subclass of `Worker`.
        pipeline: called with ``pipeline_options``, and what `pipeline.py` says it is offered; gives a `Pipeline`.
        device: "cpu", "cuda", "cuda:1", "xpu"; or the import path of another `Device`, called with ``device_options``,
            and with ``rt=`` if it has a parameter for it.
        runtime: called with ``runtime_options``, and with ``connection=`` a socket if the opener gave one; and with
            ``rank=`` if it has a parameter for it.
        rank: which of the engine's workers it is; rank 0 announces the outputs.
        ranks: how many there are.
        drain_timeout_s: how long what frees device memory waits for outputs that are being copied.
    """

    pipeline: str
    pipeline_options: dict[str, Any] = {}
    device: str = "cpu"
    device_options: dict[str, Any] = {}
    worker: str = "omni_ipc.serving.worker:Worker"
    runtime: str = NATIVE
    runtime_options: dict[str, Any] = {}
    rank: int = 0
    ranks: int = 1
    drain_timeout_s: float = 10.0


class Opened(msgspec.Struct, frozen=True, tag=True):
    """The worker runs."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A thread of the worker has ended with an error; `Refused` follows, and with it the end of the process."""

    error: wire.RemoteError


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The worker has ended in good order, and the host takes the next one."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The worker could not be built; or, behind `Opened`, has ended with an error, and its process ends, too."""

    error: wire.RemoteError


Answer = Opened | Failed | Ended | Refused
