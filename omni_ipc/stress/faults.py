"""Faults of real processes, each from its beginning to its end; none of them outlasts its `with`.

kill         SIGKILL
stop         SIGSTOP, and SIGCONT at the end
memory       its address space is as large as may be: what it asks for from now on, it does not get
descriptors  it has as many as it may have: it can open nothing
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType, TracebackType

_SPARE_BYTES = 4 << 20  # a process that has nothing at all left can tell nobody


class Target:
    """A process to be harmed, and no other that gets its id later; a context manager.

    Raises:
        ProcessLookupError: there is none of this id.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)

    def __enter__(self) -> Target:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._pidfd)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal.

        Raises:
            ProcessLookupError: the process has ended.
        """
        signal.pidfd_send_signal(self._pidfd, number)

    def limit(self, what: int, soft: int) -> tuple[int, int]:
        """Set a limit of the process, and give what it was before.

        Raises:
            ProcessLookupError: the process has ended.
            PermissionError: it is another user's.
        """
        signal.pidfd_send_signal(self._pidfd, 0)  # it lives, and so its id is its own
        _, hard = resource.prlimit(self.pid, what)
        return resource.prlimit(self.pid, what, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


Fault = Callable[[Target], AbstractContextManager[None]]


@contextlib.contextmanager
def kill(target: Target) -> Iterator[None]:
    """Kill it."""
    target.signal(signal.SIGKILL)
    yield


@contextlib.contextmanager
def stop(target: Target) -> Iterator[None]:
    """Stop it, and let it go on at the end."""
    target.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            target.signal(signal.SIGCONT)


@contextlib.contextmanager
def memory(target: Target) -> Iterator[None]:
    """Let it have no more memory than it has."""
    pages = int(Path(f"/proc/{target.pid}/statm").read_text().split()[0])
    with _limited(target, resource.RLIMIT_AS, pages * resource.getpagesize() + _SPARE_BYTES):
        yield


@contextlib.contextmanager
def descriptors(target: Target) -> Iterator[None]:
    """Let it open nothing."""
    with _limited(target, resource.RLIMIT_NOFILE, _first_free(target.pid)):
        yield


@contextlib.contextmanager
def _limited(target: Target, what: int, soft: int) -> Iterator[None]:
    before = target.limit(what, soft)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            target.limit(what, before[0])


def _first_free(pid: int) -> int:
    """Give the least number of a descriptor that a process does not have: with that as its limit, it gets none."""
    taken = {int(entry) for entry in os.listdir(f"/proc/{pid}/fd")}
    return next(number for number in range(len(taken) + 1) if number not in taken)


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {"kill": kill, "stop": stop, "memory": memory, "descriptors": descriptors}
)
