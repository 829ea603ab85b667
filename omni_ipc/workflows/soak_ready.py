"""Whether a soak can be done as it is asked for, anywhere and here: looked at before anything is started."""

from __future__ import annotations

import msgspec

from omni_ipc.accounts import Machine
from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.report.text import counted
from omni_ipc.stress.defective import build
from omni_ipc.stress.machine import look, parse
from omni_ipc.stress.plans import least_bytes
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows.limits import spare_bytes

_LONGEST_S = 366 * 86_400.0
_LARGEST_SEED = 1 << 62  # shards count on from it, and what processes tell each other ends at 64 bits
_MOST = 10_000  # clients, and workers
_GIB = 1 << 30
_OPTIONS = {"seconds": "--minutes", "fault_every_s": "--fault-every"}


def check(config: SoakConfig) -> None:
    """See that what is asked for makes sense, wherever it is to be done.

    Raises:
        UsageError: it does not; says why, in the words of the command.
    """
    for name in ("seconds", "round_s", "fault_every_s"):
        if not 0 < (value := getattr(config, name)) <= _LONGEST_S:
            option = _OPTIONS.get(name, name)
            raise UsageError(f"{option}: {value:g} s is no time to soak. Give one above 0, and a year at most.")
    for name in ("workers", "clients"):
        if not 1 <= (value := getattr(config, name)) <= _MOST:
            raise UsageError(f"--{name}: {value} is no number of {name}. Give one from 1 to {_MOST:,}.")
    if abs(config.seed) >= _LARGEST_SEED:
        raise UsageError(f"--seed: {config.seed} is too large. Give one of 18 digits at most.")
    build(config.defect)
    parse(config.device)


def ready(config: SoakConfig) -> tuple[SoakConfig, Machine]:
    """Look at what is asked for, and at the machine.

    Returns:
        what is asked for, with the device of each worker and the memory that there is, and the machine.

    Raises:
        UsageError: it makes no sense; says why.
        EnvironmentMissing: this machine lacks the device, or the memory.
    """
    check(config)
    config = share(config, 1)
    machine, device = look(config.device, config.workers)
    return msgspec.structs.replace(config, device=device), machine


def share(config: SoakConfig, shards: int) -> SoakConfig:
    """Divide this machine's memory, or what of it is asked for, among soaks that run at a time.

    Raises:
        UsageError: what is asked for is too little for so many.
        EnvironmentMissing: this machine lacks the memory.
    """
    least, there, asked = shards * least_bytes(config.workers), spare_bytes(), config.memory_bytes
    needed = asked or 2 * least
    what = f"{counted(shards, 'soak')} of --workers {config.workers}"
    if asked is not None and asked < least:
        raise UsageError(
            f"--memory {_gib(asked)} is too little for {what}. Give {_gib(least)} (GiB) or more, or fewer workers."
        )
    if there is not None and there < needed:
        raise EnvironmentMissing(
            f"For {what}, {_gib(needed)} GiB of memory are needed here, and {_gib(there)} GiB can be had.",
            "Free some (see `free -m`), or ask for less: --workers, --memory.",
        )
    return msgspec.structs.replace(config, memory_bytes=(asked or (there or 2 * least) // 2) // shards)


def _gib(count_bytes: int) -> str:
    """Write bytes as what --memory takes: GiB, rounded up, so that it is enough."""
    return f"{-(-count_bytes * 100 // _GIB) / 100:.10g}"
