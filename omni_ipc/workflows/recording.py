"""Runs a command so that every Python process that comes of it takes down what it does.

    omni-ipc record ── OMNI_IPC_RECORD, PYTHONPATH ──► command ──► its worker processes
                                                          │              │
                                                          └── a file each in the folder

A hook (`recording_hook/sitecustomize.py`) runs as each Python starts, and lets its native runtimes record; the command
needs no change. The same, for tests: `children_recorded`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.recordings import SUFFIX

_FOLDER = "OMNI_IPC_RECORD"
_HOOK = Path(__file__).parent / "recording_hook"


class Recorded(msgspec.Struct, frozen=True):
    """What came of a command.

    Args:
        exit_code: the command's own; negative: the signal that killed it.
        files: what its processes wrote.
    """

    exit_code: int
    folder: str
    files: tuple[str, ...]
    nbytes: int


def record(command: Sequence[str], folder: Path) -> Recorded:
    """Run a command to its end, and record it.

    Args:
        folder: is made; may hold no recording yet.

    Raises:
        UsageError: the command cannot be started, or the folder holds recordings already, or cannot be made.
    """
    if not command:
        raise UsageError("There is nothing to record. Give the command behind two dashes: omni-ipc record -- COMMAND.")
    if any(folder.rglob(f"*{SUFFIX}")):
        raise UsageError(f"'{folder}' holds recordings already, of something else. Choose another folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        process = subprocess.Popen(command, env=os.environ | _environment(folder))
    except OSError as error:
        raise UsageError(f"'{command[0]}' cannot be started: {error.strerror}. Correct the command.") from None
    exit_code = _wait(process)
    files = sorted(folder.rglob(f"*{SUFFIX}"))
    return Recorded(exit_code, str(folder), tuple(map(str, files)), sum(file.stat().st_size for file in files))


@contextlib.contextmanager
def children_recorded(folder: Path) -> Iterator[None]:
    """Record every Python process that this one starts, until this is left; `seam.recording.recorded` does itself."""
    before = {name: os.environ.get(name) for name in _environment(folder)}
    os.environ |= _environment(folder)
    sys.path.insert(0, str(_HOOK))  # which is what worker processes take over
    try:
        yield
    finally:
        sys.path.remove(str(_HOOK))
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(_HOOK), os.environ.get("PYTHONPATH"))))
    return {_FOLDER: str(folder.absolute()), "PYTHONPATH": path}


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the command; Ctrl-C is its business, which has heard of it, too."""
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            return process.wait()
