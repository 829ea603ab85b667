"""Starts the process of a host, which prints where the engine does, imports what the engine imports, and ends with it.

    any thread ── start_process ──► keeper (a thread) ── Popen ──► python -m omni_ipc.serving.hosted
                                       └─ stays until that process has ended ─┘

The kernel kills the process, stopped or stuck as it may be, when the thread that started it ends. So that is a thread
of its own, which ends by itself only behind the process: whoever makes an engine may end before it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from typing import NamedTuple

from omni_ipc.seam.api import Future, Runtime, Task
from omni_ipc.seam.futures import fail, resolve
from omni_ipc.transport import liveness
from omni_ipc.transport.memory import beyond_standard


class Started(NamedTuple):
    """A process, and what belongs to it.

    Args:
        control: our end of its control socket, which waits for nothing; it ends by itself once that is closed.
    """

    control: socket.socket
    process: subprocess.Popen[bytes]
    pidfd: int

    def discard(self) -> None:
        """End it, and give back what belongs to it."""
        self.control.close()
        self.process.kill()
        self.process.wait()
        os.close(self.pidfd)


def start_process(rt: Runtime) -> tuple[Started, Task]:
    """Start a process; whoever is interrupted meanwhile leaves none behind.

    Args:
        rt: of threads, for the keeper.

    Returns:
        it, and its keeper, which has ended once the process has: join it before the pidfd is closed.

    Raises:
        OSError: it cannot be started.
    """
    known: Future[Started] = rt.future()
    with contextlib.ExitStack() as undo:
        undo.callback(_give_up, known)
        keeper = rt.spawn(_keep, known, name="keeper")
        started = known.result()
        undo.pop_all()
        return started, keeper


def _keep(known: Future[Started]) -> None:
    """Start the process, and stay for as long as it lives; one that nobody wants any more is ended at once."""
    try:
        started = _start()
    except BaseException as error:
        fail(known, error)
        return
    if resolve(known, started):
        liveness.has_ended(started.pidfd, within_ms=None)
    else:
        started.discard()


def _give_up(known: Future[Started]) -> None:
    """End a process that was asked for, wherever its start is by now."""
    if not known.cancel() and known.exception() is None:
        known.result().discard()


def _start() -> Started:
    with contextlib.ExitStack() as undo:
        ours, theirs = (
            undo.enter_context(socket.socket(fileno=beyond_standard(end.detach())))
            for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        )
        ours.setblocking(False)
        process = subprocess.Popen(
            [sys.executable, "-m", "omni_ipc.serving.hosted", str(theirs.fileno()), str(os.getpid())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=_ours_or_none(1),
            stderr=_ours_or_none(2),
            start_new_session=True,  # Ctrl-C is the engine's business; it then stops its hosts
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # what we import, it can
        )
        undo.callback(process.wait)
        undo.callback(process.kill)
        pidfd = os.pidfd_open(process.pid)
        undo.pop_all()
        theirs.close()
        return Started(ours, process, pidfd)


def _ours_or_none(fd: int) -> int | None:
    """Let the process print where we do; nowhere if that is closed, or else into what gets its number there."""
    try:
        os.fstat(fd)
    except OSError:
        return subprocess.DEVNULL
    return None
