"""What a test may leave behind, seen from outside: descriptors, mappings, threads, children, files in /dev/shm."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
from pathlib import Path

_PATIENCE_S = 10.0  # what ends by itself, such as a thread that was told to stop, may take so long
_SHM = Path("/dev/shm")
_LIBRARIES = (sys.prefix, sys.base_prefix, "/usr/", "/dev/null", "/dev/urandom", "/dev/nvidia", "/proc/")

_CHILD = "child process"

Resources = set[tuple[str, str]]


def snapshot() -> Resources:
    """List what this process holds now, but for what libraries open once and keep."""
    return _descriptors() | _segments() | _threads() | _children() | {("file in /dev/shm", name) for name in _shm()}


def leaked_since(before: Resources) -> list[str]:
    """Say what came after ``before`` and does not go, even when given time and a garbage collection."""
    deadline = None
    while leaked := snapshot() - before:
        if deadline is not None and time.monotonic() > deadline:
            return sorted(f"{kind} {name}{_command(name) if kind == _CHILD else ''}" for kind, name in leaked)
        gc.collect()
        if deadline is None:  # on a busy machine the collection alone takes seconds, and what it frees is no leak
            deadline = time.monotonic() + _PATIENCE_S
        time.sleep(0.01)
    return []


def _descriptors() -> Resources:
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{fd}")
        except FileNotFoundError:  # the one that lists them
            continue
        if not target.startswith(_LIBRARIES):
            found.add(("descriptor", f"{fd} -> {target}"))
    return found


def _segments() -> Resources:
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {
        ("mapped segment", line.split()[0] + " " + line.partition("/memfd:")[2]) for line in lines if "/memfd:" in line
    }


def _threads() -> Resources:
    return {("thread", f"{thread.name} ({thread.ident})") for thread in threading.enumerate()}


def _children() -> Resources:
    found = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            found |= {(_CHILD, pid) for pid in task.read_text().split()}
    return found


def _command(pid: str) -> str:
    """Name the command of a child; only now, because one that was just forked still bears its parent's."""
    try:
        return f" ({Path(f'/proc/{pid}/cmdline').read_text()[:200]})".replace("\0", " ")
    except OSError:
        return ""


def _shm() -> list[str]:
    return os.listdir(_SHM) if _SHM.is_dir() else []
