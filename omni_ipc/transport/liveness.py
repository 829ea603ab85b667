"""Whether the process at the other end of a lane still lives, and how it ended if it does not.

A process is known by its signature, id and start time, so that another one that got its id later is never taken for it.
A look opens a pidfd, compares, asks and closes it again: it costs about 35 µs, holds no descriptor, and does not depend
on the end of a pipe or socket, whose descriptors a forked child may keep open long after its parent's death. Both sides
must see the same process ids: two containers need a common pid namespace.
"""

from __future__ import annotations

import errno
import functools
import os
import select

from omni_ipc.errors import EnvironmentMissing
from omni_ipc.seam.api import Runtime
from omni_ipc.signals import name_of
from omni_ipc.transport.layout import Signature

LOOK_EVERY_S = 0.1

_MOST_PID = 1 << 22  # the kernel's limit
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_NO_PROCESS = (errno.ESRCH, errno.ENOENT, errno.EINVAL)  # or a thread's id, as the kernel says since 6.9, and before
_GONE = "it has ended; its exit status is its parent's to know"


class Looks:
    """Says when it is time to look at the peer: at once, and every 100 ms from then on."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._next = rt.now()

    def due(self) -> bool:
        """Tell whether the time has come; then the next look is due 100 ms later."""
        now = self._rt.now()
        if now < self._next:
            return False
        self._next = now + LOOK_EVERY_S
        return True


def this_process() -> Signature:
    """Give the signature of this process."""
    return _own(os.getpid())


def ending(process: Signature) -> str | None:
    """Tell how a process ended, or None while it lives.

    Returns:
        "killed by SIGKILL" or "it ended with exit status 1" for a child of this process that nobody has reaped; this
        does not reap it either. For any other process only that it has ended.

    Raises:
        EnvironmentMissing: this kernel has no pidfd, or does not let this process use it.
    """
    if process == this_process():
        return None
    if not 0 < process.pid <= _MOST_PID:
        return f"no process has the id that it signed with, {process.pid}"
    try:
        pidfd = os.pidfd_open(process.pid)
    except OSError as error:
        if error.errno in _NO_PROCESS:
            return _GONE
        if error.errno in _NO_DESCRIPTOR:
            return None  # not to be known now; the next look may tell
        raise EnvironmentMissing(
            f"pidfd_open cannot be used here ({error.strerror}), so nobody could tell a dead peer from a slow one.",
            "Use Linux 5.3 or newer, and a sandbox that allows the call.",
        ) from None
    try:
        if start_time(process.pid) != process.start:
            return _GONE  # and another process has its id now
        return _how(pidfd) if has_ended(pidfd) else None
    except OSError as error:
        if error.errno in _NO_DESCRIPTOR:  # the pidfd was the last one that there was
            return None
        raise
    finally:
        os.close(pidfd)


def has_ended(pidfd: int, *, within_ms: int | None = 0) -> bool:
    """Tell whether a process has ended, at once or after a while; with None, once it has. A zombie has ended."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(within_ms))


def start_time(pid: int) -> int | None:
    """Give a process's start, in clock ticks since the machine's; None if there is no such process."""
    fields = stat_fields(str(pid))
    return None if fields is None else int(fields[19])


def stat_fields(process: str) -> list[bytes] | None:
    """Give what the kernel says of a process, from field 3 on, its state; None if there is no such process.

    Args:
        process: its id, or of one of its threads "12/task/13".
    """
    try:
        with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
            stat = file.read(1024)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.rpartition(b")")[2].split()  # fields 1 and 2 are its id and its name, which may hold anything


def _how(pidfd: int) -> str:
    try:
        ended = os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # its parent still can reap it
    except ChildProcessError:
        return _GONE
    if ended is None:
        return _GONE
    if ended.si_code == os.CLD_EXITED:
        return f"it ended with exit status {ended.si_status}"
    return f"killed by {name_of(ended.si_status)}"


@functools.cache
def _own(pid: int) -> Signature:
    return Signature(pid, start_time(pid) or 0)


os.register_at_fork(after_in_child=_own.cache_clear)  # a child may get the id of an ancestor
