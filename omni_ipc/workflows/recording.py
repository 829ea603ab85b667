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
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

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


def record(command: Sequence[str], folder: Path, *, anew: bool = False) -> Recorded:
    """Run a command to its end, and record it.

    Args:
        folder: is made; may hold no recording yet.
        anew: remove the recordings that it holds.

    Raises:
        UsageError: the command cannot be started, or the folder holds recordings already, or cannot be made.
    """
    if not command:
        raise UsageError("There is nothing to record. Give the command behind two dashes: omni-ipc record -- COMMAND.")
    before = [*folder.rglob(f"*{SUFFIX}")]
    if before and not anew:
        raise UsageError(
            f"'{folder}' holds recordings of an earlier command, and they would be taken for this one's. "
            "Remove them by --anew, or choose another folder: --to DIR."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in before:
            file.unlink()
        exit_code = _run(command, os.environ | _environment(folder))
    except OSError as error:
        raise UsageError(f"'{command[0]}' cannot be started: {error.strerror}. Correct the command.") from None
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


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command to its end; whoever asks this process to end asks the command, which ends in its own way."""
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def hand_on(number: int, _: FrameType | None) -> None:
        early.append(number) if process is None else process.send_signal(number)

    with _handled(hand_on):
        process = subprocess.Popen(command, env=environment)
        for number in early:
            process.send_signal(number)
        return _wait(process)


@contextlib.contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Have requests to end handled; elsewhere than in the main thread, Python has none."""
    in_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGHUP) if in_main}
    try:
        yield
    finally:
        for number, theirs in before.items():
            signal.signal(number, theirs)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the command; Ctrl-C is its business, which has heard of it, too."""
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            return process.wait()
