"""Starts the process of a host, so that it prints where the engine does, and imports what the engine imports."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys

from omni_ipc.transport.memory import beyond_standard


def start_process(timeout_s: float) -> tuple[socket.socket, subprocess.Popen[bytes], int]:
    """Start a process; returns our end of its control socket, the process, and a pidfd of it."""
    with contextlib.ExitStack() as undo:
        ours, theirs = (
            undo.enter_context(socket.socket(fileno=beyond_standard(end.detach())))
            for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        )
        ours.settimeout(timeout_s)
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
        return ours, process, pidfd


def _ours_or_none(fd: int) -> int | None:
    """Let the process print where we do; nowhere if that is closed, or else into what gets its number there."""
    try:
        os.fstat(fd)
    except OSError:
        return subprocess.DEVNULL
    return None
