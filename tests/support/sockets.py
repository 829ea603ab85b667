"""Real sockets for tasks under control: who would block looks again and again, and lets others run meanwhile."""

from __future__ import annotations

import _socket
import contextlib
import math
import os
import socket
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from omni_ipc.seam.api import Runtime

LOOK_EVERY_S = 0.01


class Sockets:
    """Stands in for the module `socket` in a run, and keeps all that were made: the collector closes none of them."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self.made: list[SteppedSocket] = []
        self.module: Any = SimpleNamespace(**{**vars(socket), "socket": self._socket, "socketpair": self._pair})

    def at(self, fd: int) -> SteppedSocket:
        """Find the open one with this descriptor."""
        return next(each for each in self.made if each.fileno() == fd)

    def _socket(self, *args: int, **options: int) -> SteppedSocket:
        made = SteppedSocket(*args, **options)
        made.attend(self._rt, self._socket)
        self.made.append(made)
        return made

    def _pair(self, *args: int) -> tuple[SteppedSocket, SteppedSocket]:
        one, other = _socket.socketpair(*args)
        return self._socket(fileno=one.detach()), self._socket(fileno=other.detach())


class SteppedSocket(_socket.socket):
    """One of them; its timeout is in the runtime's seconds."""

    def attend(self, rt: Runtime, make: Callable[..., SteppedSocket]) -> None:
        """Wait in a runtime from now on."""
        super().setblocking(False)
        self._rt, self._make, self._wait_s, self._was_shut = rt, make, math.inf, False

    def settimeout(self, timeout: float | None) -> None:
        self._wait_s = math.inf if timeout is None else timeout

    def setblocking(self, flag: bool) -> None:
        self._wait_s = math.inf if flag else 0.0

    def accept(self) -> tuple[SteppedSocket, Any]:
        fd, address = self._stepped(self._accept)  # type: ignore[attr-defined]
        return self._make(fileno=fd), address

    def recv(self, *args: int) -> bytes:
        data: bytes = self._stepped(super().recv, *args)
        return data

    def recvmsg(self, *args: int) -> Any:
        return self._stepped(super().recvmsg, *args)

    def readable(self) -> bool:
        """Tell whether a recv would give something, an end or an error."""
        try:
            super().recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def shutdown(self, how: int) -> None:
        self._was_shut = True
        super().shutdown(how)

    def __enter__(self) -> SteppedSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stepped(self, call: Callable[..., Any], *args: int) -> Any:
        end = self._rt.now() + self._wait_s
        while True:
            try:
                return call(*args)
            except BlockingIOError:
                if self._rt.now() >= end:
                    raise
            self._rt.sleep(LOOK_EVERY_S)
            assert self._was_shut or self.fileno() >= 0, "it was closed, which wakes nobody who waits in it"


def descriptors() -> Counter[str]:
    """Count what is open, by its kind; but for memory, which goes with the last view of it."""
    kinds: Counter[str] = Counter()
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            kinds[os.readlink(f"/proc/self/fd/{fd}").partition(":[")[0]] += 1
    return Counter({kind: count for kind, count in kinds.items() if not kind.startswith("/memfd:")})
