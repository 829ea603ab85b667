"""Whether a soak can be done here as it is asked for: looked at before anything is started."""

from __future__ import annotations

import math

import msgspec

from omni_ipc.accounts import Machine
from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.stress.defective import build
from omni_ipc.stress.machine import look
from omni_ipc.stress.plans import least_bytes
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows.limits import spare_bytes

_MIB = 1 << 20


def ready(config: SoakConfig) -> tuple[SoakConfig, Machine]:
    """Look at what is asked for, and at the machine.

    Returns:
        what is asked for, with the device of each worker and the memory that there is, and the machine.

    Raises:
        UsageError: it makes no sense; says why.
        EnvironmentMissing: this machine lacks the device, or the memory.
    """
    for name in ("seconds", "round_s", "fault_every_s"):
        if not 0 < getattr(config, name) < math.inf:
            raise UsageError(f"{name}={getattr(config, name):g} is no time to soak. Give a finite time above 0.")
    for name in ("workers", "clients"):
        if getattr(config, name) < 1:
            raise UsageError(f"{name}={getattr(config, name)} does nothing. Give 1 or more.")
    build(config.defect)
    memory_bytes = _memory_bytes(config)
    machine, device = look(config.device, config.workers)
    return msgspec.structs.replace(config, device=device, memory_bytes=memory_bytes), machine


def _memory_bytes(config: SoakConfig) -> int:
    least = least_bytes(config.workers)
    there = spare_bytes()
    asked = config.memory_bytes
    if asked is not None and asked < least:
        raise UsageError(f"{asked // _MIB:,} MiB are too little for {config.workers} workers. Give {least // _MIB:,}.")
    if there is not None and there < (asked or 2 * least):
        raise EnvironmentMissing(
            f"A soak of {config.workers} workers needs {(asked or 2 * least) // _MIB:,} MiB of memory here, and "
            f"{there // _MIB:,} MiB can be had.",
            "Free some (see `free -m`), or ask for less: --workers, --memory.",
        )
    return asked or (there or 2 * least) // 2
