"""A process that has imported what lanes need, and forks children of any role in a millisecond; no torch in it.

python -m tests.support.zygote CONTROL_FD
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from omni_ipc.transport import liveness
from tests.support import roles, streams
from tests.support.lanes import ROOT

_MOST_BYTES = 65_536
_MOST_FDS = 64
_SET_CHILD_SUBREAPER = 36  # prctl: orphaned grandchildren are ours to reap


class Child:
    """A process that a zygote forked, leader of a group; a context manager, at whose end the group has been killed."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self.pid = pid
        self._pidfd = pidfd

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill_group()
        assert self.ended(within_ms=10_000)
        os.close(self._pidfd)

    def kill(self) -> None:
        """Send SIGKILL, if it still runs."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """Let it stand still."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on, if it stands still."""
        self._signal(signal.SIGCONT)

    def kill_group(self) -> None:
        """Send SIGKILL to it and to all that it forked."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def ended(self, *, within_ms: int = 0) -> bool:
        """Tell whether it has ended."""
        return liveness.has_ended(self._pidfd, within_ms=within_ms)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)


class Zygote:
    """This process's end of one."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def fork(self, role: str, *fds: int, **options: Any) -> Child:
        """Run a function of `roles` or `streams` on the descriptors and options, in a process of its own."""
        socket.send_fds(self._control, [json.dumps([role, options]).encode()], fds)
        data, pidfds, _, _ = socket.recv_fds(self._control, _MOST_BYTES, 1)
        return Child(int(data), *pidfds)


@contextmanager
def zygote() -> Iterator[Zygote]:
    """Start a zygote, and end it with all its children."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(30)
    with ours, theirs:
        command = [sys.executable, "-m", "tests.support.zygote", str(theirs.fileno())]
        with subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=ROOT) as process:
            theirs.close()
            try:
                yield Zygote(ours)
            finally:
                process.kill()


def main() -> None:
    """Fork on request until the control socket closes."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(fileno=int(sys.argv[1])) as control:
        while True:
            data, fds, _, _ = socket.recv_fds(control, _MOST_BYTES, _MOST_FDS)
            if not data:
                return
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
            if (pid := os.fork()) == 0:
                _play(*json.loads(data), fds)
            os.setpgid(pid, pid)
            pidfd = os.pidfd_open(pid)  # before it may be reaped
            socket.send_fds(control, [b"%d" % pid], [pidfd])
            for fd in (pidfd, *fds):
                os.close(fd)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _play(role: str, options: dict[str, Any], fds: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    os.setpgid(0, 0)  # here and in the parent: whoever comes first
    status = 1
    try:
        (getattr(roles, role, None) or getattr(streams, role))(*fds, **options)
        assert "torch" not in sys.modules
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _reap(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
