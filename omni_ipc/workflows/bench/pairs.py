"""The processes of subjects, seen from the run: started all at once, asked one at a time, ended together."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from omni_ipc.interrupts import postponed
from omni_ipc.workflows.bench.child import Child
from omni_ipc.workflows.bench.measures import Found, Measure
from omni_ipc.workflows.bench.pair import Command
from omni_ipc.workflows.bench.subject import Case

_MODULE = "omni_ipc.workflows.bench.pair"
_START_S = 60.0
_PATIENCE_S = 30.0  # beyond the seconds of a measurement; the pair itself gives up earlier
_SHARED_MEMORY = Path("/dev/shm")


class Pair:
    """One subject's process."""

    def __init__(self, path: str) -> None:
        self._child = Child([sys.executable, "-m", _MODULE, path])
        self._started: Found | None = None
        self.end = self._child.end

    def started(self) -> Found:
        """Wait until it is there, and tell why it is not."""
        self._started = self._started or self._answer(_START_S)
        return self._started

    def ask(self, measure: Measure, case: Case, seconds: float) -> None:
        """Have something measured; `answer` waits for what was found."""
        self._seconds = seconds
        self._child.write(msgspec.json.encode(Command(measure, case, seconds)))

    def answer(self) -> Found:
        """Give what was found, or why nothing was."""
        return self._answer(self._seconds + _PATIENCE_S)

    def _answer(self, seconds: float) -> Found:
        line = self._child.read(seconds)
        return msgspec.json.decode(line, type=Found) if line else Found(reason="its process died, or hangs")


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    """Give a folder of this run's own; it goes with all that is named after it in /dev/shm, whatever ended how."""
    folder = tempfile.mkdtemp(prefix="omni_ipc.bench.")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for left in _SHARED_MEMORY.glob(f"{Path(folder).name}*"):
            left.unlink(missing_ok=True)


@contextlib.contextmanager
def started(paths: list[str]) -> Iterator[dict[str, Pair]]:
    """Start the subjects' processes; all of them end with the context."""
    with contextlib.ExitStack() as stack:
        pairs = {}
        for path in paths:
            with postponed():
                pairs[path] = Pair(path)
                stack.callback(pairs[path].end)
        yield pairs
