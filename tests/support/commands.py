"""The command line as its users run it: in a process of its own, watched from outside."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_PATIENCE_S = 30.0


class Ended(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str
    survivors: list[str]  # command lines of processes that it started and that still run
    litter: list[str]  # what lies in its temporary folder


class Command:
    """``python -m omni_ipc ...`` in a session and with a temporary folder of its own; a context manager.

    Args:
        words: what comes after ``omni-ipc``.
        cwd: where it runs.
        env: variables to set besides those of this process.
        under: a command that runs it, given behind: ("nice", "-n", "19").
    """

    def __init__(
        self,
        *words: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        under: Sequence[str] = (),
    ) -> None:
        self._mark = uuid.uuid4().hex  # inherited by all that it starts, whatever session that is in
        self._temporary = cwd / f"temporary.{self._mark}"
        self._temporary.mkdir()
        known = {"PYTHONPATH": str(ROOT), "TMPDIR": str(self._temporary), "OMNI_IPC_TEST_MARK": self._mark}
        self._process = subprocess.Popen(
            [*under, sys.executable, "-m", "omni_ipc", *words],
            cwd=cwd,
            env={**os.environ, **known, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Command:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid, _ in self._family():
            os.kill(pid, signal.SIGKILL)
        self._process.communicate()

    def started(self, words: str) -> bool:
        """Tell whether it has started a process in whose command line these words stand, and that still runs."""
        return any(words in line for _, line in self._family())

    def has_begun(self) -> bool:
        """Tell whether the command line itself runs, and not yet Python's own start: it answers SIGHUP."""
        caught = re.search(r"SigCgt:\s*(\w+)", (Path("/proc") / str(self._process.pid) / "status").read_text())
        return caught is not None and bool(int(caught[1], 16) >> (signal.SIGHUP - 1) & 1)

    def has_complained(self) -> bool:
        """Tell whether something stands on its error output."""
        return bool(select.select([self._process.stderr], [], [], 0)[0])

    def interrupt_when(self, moment: Callable[[], bool], *, may_be_over: bool = False) -> None:
        """Press Ctrl-C once the moment has come; or not at all, if the command may be over before."""
        if not self._wait_for(moment):
            assert may_be_over, f"it ended before its moment: {self._process.communicate()}"
            return
        with contextlib.suppress(ProcessLookupError) if may_be_over else contextlib.nullcontext():
            os.killpg(self._process.pid, signal.SIGINT)

    def terminate_when(self, moment: Callable[[], bool]) -> None:
        """Ask it, and nobody else, to end, once the moment has come."""
        self._wait_for(moment)
        self._process.terminate()

    def end(self, timeout_s: float = _PATIENCE_S) -> Ended:
        """Wait for its end."""
        out, err = self._process.communicate(timeout=timeout_s)
        litter = [path.name for path in self._temporary.iterdir()]
        return Ended(self._process.returncode, out, err, [line for _, line in self._family()], litter)

    def _wait_for(self, moment: Callable[[], bool]) -> bool:
        """Tell whether it still ran when the moment came."""
        deadline = time.monotonic() + _PATIENCE_S
        while not moment():
            if self._process.poll() is not None:
                return False
            assert time.monotonic() < deadline, "its moment did not come"
            time.sleep(0.005)
        return True

    def _family(self) -> list[tuple[int, str]]:
        """Give the processes that bear the mark, but for those that are dead and merely not reaped."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self._mark.encode() in (folder / "environ").read_bytes():
                    found.append((int(folder.name), (folder / "cmdline").read_text().replace("\0", " ")))
            except OSError:  # it has ended, or is somebody else's
                continue
        return found
