"""Processes that never outlive whoever started them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from omni_ipc.conformance.processes.leash import start_leashed
from omni_ipc.conformance.processes.listener import Hear, Listener
from omni_ipc.errors import Inconclusive
from omni_ipc.interrupts import postponed


class Ended(msgspec.Struct, frozen=True):
    """What a process said until it ended."""

    output: str
    errors: str
    exit_code: int  # negative: the signal that killed it
    timed_out: bool


class Children:
    """Runs processes, each in a group of its own; leaving the ``with`` kills whatever still runs.

    One thread may leave the ``with`` while others are inside `run`: these return at once, with what was said so far. If
    this process is killed, so are they: each is on the leash of the thread that is inside `run`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()  # guarded by _lock
        self._closed = False  # guarded by _lock

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            for process in self._running:
                _kill_group(process)

    def dismiss(self, grace_s: float) -> None:
        """Start nothing more, and let what runs end in good order; leaving the ``with`` kills what does not.

        Args:
            grace_s: how long that may take.
        """
        with self._lock:
            self._closed = True
            running = [process for process in self._running if process.returncode is None]
            for process in running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGTERM)
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(grace_s)

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        timeout_s: float,
        hear: Hear | None = None,
    ) -> Ended:
        """Run a command to its end, or kill its group after ``timeout_s`` seconds.

        Args:
            hear: hears each line of its output as it comes; what that raises ends the command.

        Raises:
            Inconclusive: the ``with`` was left already.
            OSError: the command cannot be started.
        """
        with self._start(command, cwd, env) as process:
            try:
                listener = Listener(process, hear)
                timed_out = not listener.listen(timeout_s)
                if timed_out:
                    _kill_group(process)
                    listener.listen()
            finally:
                _kill_group(process)
                with self._lock:
                    self._running.discard(process)
        return Ended(listener.output, listener.errors, process.returncode, timed_out)

    def _start(self, command: Sequence[str], cwd: Path, env: Mapping[str, str] | None) -> subprocess.Popen[str]:
        # Under the lock, so that nothing starts behind the back of __exit__.
        with self._lock:
            if self._closed:
                raise Inconclusive("The check was ended before this run began. Run it again.")
            with postponed():
                process = start_leashed(
                    command,
                    cwd=cwd,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                    start_new_session=True,
                )
                self._running.add(process)
        return process


def _kill_group(process: subprocess.Popen[str]) -> None:
    if process.returncode is not None:
        return  # reaped: its id may be another's by now
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
