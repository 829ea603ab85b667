"""The socket of pubsub.py between two processes: datagrams, that go nowhere unless somebody has bound their address."""

from __future__ import annotations

import contextlib
import socket
import sys

from omni_ipc.errors import Timeout
from omni_ipc.scenarios.legacy.pickling import Pickled, dumps, loads
from omni_ipc.seam.api import Runtime

_MOST_BYTES = 1 << 16


class Publisher:
    """The sending end.

    Args:
        pid: of the process that publishes; names the address.
    """

    def __init__(self, rt: Runtime, pid: int) -> None:
        self._rt = rt
        self._address = _address(pid)
        self._socket = _datagrams()

    def publish(self, message: Pickled) -> None:
        """Send, and never say whether anybody will get it."""
        with self._rt.region("Socket.Publish"), contextlib.suppress(OSError):
            self._socket.sendto(dumps(message, sys.maxsize).data, socket.MSG_DONTWAIT, self._address)

    def close(self) -> None:
        """Send nothing more."""
        self._socket.close()


class Subscriber:
    """The receiving end; see `Publisher`."""

    def __init__(self, rt: Runtime, pid: int) -> None:
        self._rt = rt
        self._address = _address(pid)
        self._socket = _datagrams()

    def join(self) -> None:
        """Subscribe; what was published before is gone."""
        with self._rt.region("Socket.Join"), contextlib.suppress(OSError):  # it may be closed by then
            self._socket.bind(self._address)

    def receive(self, timeout: float) -> Pickled:
        """Take the next message.

        Raises:
            Timeout: none came within ``timeout`` seconds.
        """
        self._socket.settimeout(max(timeout, 1e-3))
        try:
            message: Pickled = loads(Pickled(self._socket.recv(_MOST_BYTES), ()))
        except TimeoutError:
            with self._rt.region("Socket.GiveUp"):
                raise Timeout(f"No payload came within {timeout:g} s. Wait longer, or look at the worker.") from None
        return message

    def close(self) -> None:
        """Subscribe no more."""
        self._socket.close()


def _datagrams() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def _address(pid: int) -> str:
    return f"\0omni_ipc.overflow.{pid}"
