"""The processes of subjects, seen from the run: started all at once, asked one at a time, ended together."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

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
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is ours; and all that it starts can be ended with it
        )
        self._started: Found | None = None

    def started(self) -> Found:
        """Wait until it is there, and tell why it is not."""
        self._started = self._started or self._answer(_START_S)
        return self._started

    def ask(self, measure: Measure, case: Case, seconds: float) -> None:
        """Have something measured; `answer` waits for what was found."""
        self._seconds = seconds
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the answer tells
            stdin.write(msgspec.json.encode(Command(measure, case, seconds)) + b"\n")
            stdin.flush()

    def answer(self) -> Found:
        """Give what was found, or why nothing was."""
        return self._answer(self._seconds + _PATIENCE_S)

    def end(self) -> None:
        """End it, and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _answer(self, seconds: float) -> Found:
        stdout = self._process.stdout
        assert stdout is not None
        ready, _, _ = select.select([stdout], [], [], seconds)
        line = stdout.readline() if ready else b""
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
            pairs[path] = Pair(path)
            stack.callback(pairs[path].end)
        yield pairs
