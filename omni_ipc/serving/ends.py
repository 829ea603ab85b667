"""How a worker's process ended, or was stopped, as the process sees that has started it."""

from __future__ import annotations

import os
from typing import Protocol

from omni_ipc.errors import PeerDied, PeerFailed
from omni_ipc.signals import name_of


class Child(Protocol):
    """``subprocess.Popen``."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self) -> int: ...


def death_of(process: Child) -> PeerDied | None:
    """Tell how a process ended, if it did."""
    status = process.poll()
    if status is None and _has_ended(process.pid):
        status = process.wait()  # another thread is just reaping it, and until then poll() knows nothing
    if status is None:
        return None
    how = f"killed by {name_of(-status)}" if status < 0 else f"ended with exit status {status}"
    return PeerDied(f"The worker process {process.pid}", how)


def stop_of(process: Child) -> PeerFailed | None:
    """Tell whether a process lives, and was stopped by a signal."""
    try:
        found = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # reaped
        return None
    if found is None:
        return None
    return PeerFailed(
        f"The worker process {process.pid} was stopped by {name_of(found.si_status)}, and does nothing. "
        f"Let it go on: kill -CONT {process.pid}."
    )


def _has_ended(pid: int) -> bool:
    """Tell whether a process has ended, without reaping it."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # reaped
        return True
