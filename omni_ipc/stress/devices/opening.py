"""Which of the conducted devices it is."""

from __future__ import annotations

import contextlib
import functools
import warnings
from typing import TYPE_CHECKING

from omni_ipc.device.api import open_device
from omni_ipc.errors import EnvironmentMissing
from omni_ipc.seam.api import Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.stress.devices.pipeline import Streams

if TYPE_CHECKING:
    from omni_ipc.stress.devices.held import HeldCuda

_TRIES = 4
_SHARED = (
    "Streams of the device wait for each other, as they share a queue: they are held back by the host instead.",
    "More queues may help: export CUDA_DEVICE_MAX_CONNECTIONS=32",
)


def open_streams(rt: Runtime, kind: str = "cpu") -> Streams:
    """Open a device whose streams take each of their steps as a region "Stream.Step".

    CUDA's streams are held back by the device itself. Where it cannot, and elsewhere, tasks do their work, in turn.

    Args:
        kind: as for `open_device`.

    Raises:
        UnknownName: there is no such kind of device.
        EnvironmentMissing: torch, or that device, is missing here.
    """
    name = open_device(kind).name
    from omni_ipc.stress.devices.threaded import ThreadedStreams

    if name.startswith("cuda:"):
        try:
            return _open_held(rt, name)
        except EnvironmentMissing as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
    return ThreadedStreams(rt, name)


def _open_held(rt: Runtime, name: str) -> HeldCuda:
    """Open a device whose two streams it holds back itself, one of them whatever the other does.

    Raises:
        EnvironmentMissing: it cannot, or only for some streams, of which the default one is special; or they share a
            queue whichever they are. Nothing is left open.
    """
    from omni_ipc.stress.devices.gates import DriverGate, require_gates
    from omni_ipc.stress.devices.held import HeldCuda

    driver = require_gates(NativeRuntime(), name)
    for _ in range(_TRIES):  # torch gives another side stream each time
        device = HeldCuda(rt, int(name.partition(":")[2]), functools.partial(DriverGate, driver), NativeRuntime())
        with contextlib.ExitStack() as undo:
            undo.callback(device.close)
            if device.are_apart():
                undo.pop_all()
                return device
    raise EnvironmentMissing(*_SHARED)
