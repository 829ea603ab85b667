"""Where a soak runs: the machine, its devices and their driver, as they tell of themselves."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

import msgspec

from omni_ipc.accounts import Machine
from omni_ipc.device.api import parse_device
from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.interrupts import postponed
from omni_ipc.stress import build

_LONGEST_S = 120.0
_ASK = """
import json, sys, torch
kind = sys.argv[1]
there = getattr(torch, kind)
count = there.device_count() if there.is_available() else 0
driver = there.get_device_properties(0).driver_version if kind == "xpu" and count else torch.version.cuda or ""
names = [there.get_device_name(index) for index in range(count)]
print(json.dumps({"torch": torch.__version__, "names": names, "driver": driver}))
"""
_LOAD = """
import sys
from omni_ipc.errors import UsageError
from omni_ipc.serving.factory import load
try:
    load(sys.argv[1])
except UsageError as error:
    sys.exit(str(error))
"""


class _Asked(msgspec.Struct):
    """What torch says.

    Args:
        driver: of XPU its version; of CUDA the version of the library that torch was built with.
    """

    torch: str
    names: list[str]
    driver: str


def parse(device: str) -> tuple[str, int | None]:
    """Take the name of a device apart, as `parse_device`; an import path is a kind of its own, without an index.

    Raises:
        UnknownName: there is no such kind of device.
    """
    return (device, None) if "." in device else parse_device(device)


def look(device: str, workers: int) -> tuple[Machine, str]:
    """Look at the machine.

    Args:
        device: "cpu", "cuda", "xpu:1"; or the import path of another one.

    Returns:
        it, and the device of each worker: with "{rank}" for its rank, if each of them has its own.

    Raises:
        UnknownName: there is no such kind of device.
        UsageError: there is nothing at the import path.
        EnvironmentMissing: torch, or that device, is missing here.
    """
    kind, index = parse(device)
    versions = {"omni_ipc": build.version(), "python": platform.python_version()}
    versions["numpy"] = importlib.metadata.version("numpy")
    if "." in kind:
        _require(device)
    if kind == "cpu" or "." in kind:
        return _machine(device, (_processor(),), "", versions), device
    asked = _ask_torch(kind, device)
    versions["torch"] = asked.torch
    if (index or 0) >= len(asked.names):
        raise EnvironmentMissing(
            f"Device '{device}' is not here: torch {asked.torch} sees {len(asked.names)} {kind.upper()} devices.",
            "Use --device cpu, or run on a machine with a driver and a torch that is built for it.",
        )
    each = index is None and len(asked.names) >= workers > 1
    used = asked.names[:workers] if each else [asked.names[index or 0]]
    return _machine(device, tuple(used), _driver(asked), versions), f"{kind}:{'{rank}' if each else index or 0}"


def _machine(device: str, devices: tuple[str, ...], driver: str, versions: dict[str, str]) -> Machine:
    return Machine(
        host=platform.node(),
        system=f"{platform.system()} {platform.release()}, {platform.machine()}",
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        device=device,
        devices=devices,
        driver=driver,
        versions=versions,
    )


def _ask_torch(kind: str, device: str) -> _Asked:
    """Ask torch in a process of its own: where it has looked at a device once, it keeps it, and memory there."""
    remedy = "pip install 'omni-ipc[torch]'"
    if importlib.util.find_spec("torch") is None:
        raise EnvironmentMissing(f"Device '{device}' needs torch, which is not installed here.", remedy)
    try:
        said = _said(_ASK, kind)
    except subprocess.SubprocessError as error:
        told = f"Device '{device}' cannot be looked at: {_last_line(error)}."
        raise EnvironmentMissing(told, "omni-ipc doctor") from None
    return msgspec.json.decode(said, type=_Asked)


def _require(path: str) -> None:
    """See that there is something at an import path: in a process of its own, as nobody knows what its module does."""
    try:
        _said(_LOAD, path)
    except subprocess.SubprocessError as error:
        raise UsageError(f"--device: {_last_line(error)}") from None


def _said(program: str, word: str) -> str:
    """Give what a program prints; it finds the modules that the workers will.

    It takes seconds; a request to end waits for them, as one that came while a `Popen` is deleted would be lost.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with postponed():
        return subprocess.run(
            [sys.executable, "-c", program, word],
            capture_output=True,
            text=True,
            check=True,
            timeout=_LONGEST_S,
            env=environment,
        ).stdout


def _last_line(error: subprocess.SubprocessError) -> str:
    return str(getattr(error, "stderr", "") or error).strip().splitlines()[-1]


def _driver(asked: _Asked) -> str:
    """Name the driver; NVIDIA's tells its version in a file."""
    try:
        kernel = Path("/proc/driver/nvidia/version").read_text().splitlines()[0].partition(":")[2].split("  ")
    except (OSError, IndexError):
        return asked.driver
    return f"{' '.join(word.strip() for word in kernel[:2]).strip()}, CUDA {asked.driver}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
