"""Starts commands that end with whoever started them, however that ends.

    leashed(command) ──► python leash.py STARTER FD COMMAND ... ── prctl ──► exec COMMAND

The kernel is told to kill the process once the thread that started it has ended; then the command takes its place. It
is a program of its own, because between fork and exec a process with threads may run no Python.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

_PR_SET_PDEATHSIG = 1


def start_leashed(command: Sequence[str], *, pass_fds: Sequence[int] = (), **options: Any) -> subprocess.Popen[str]:
    """Start a command as `subprocess.Popen` does; it is killed when the calling thread ends.

    Raises:
        OSError: the command cannot be started.
    """
    hears, tells = os.pipe()
    with open(hears) as refusal:
        try:
            process: subprocess.Popen[str] = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(tells), *command],
                pass_fds=[tells, *pass_fds],
                **options,
            )
        finally:
            os.close(tells)
        if code := refusal.read():  # which ends when the command takes the place of this program
            with process:
                raise OSError(int(code), os.strerror(int(code)), command[0])
    return process


def main() -> None:
    """Become the command, or tell the number of the error."""
    starter, tells, *command = sys.argv[1:]
    os.set_inheritable(int(tells), False)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(starter):  # it ended before the kernel was told
        return
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(int(tells), str(error.errno).encode())


if __name__ == "__main__":
    main()
