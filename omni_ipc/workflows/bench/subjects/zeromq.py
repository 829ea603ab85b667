"""pyzmq, PUSH to PULL over a Unix socket."""

from __future__ import annotations

import tempfile
from typing import Any

import zmq

from omni_ipc.workflows.bench.subject import Case, Payload, Receiver

_COPY_BELOW_BYTES = 64 << 10  # pyzmq's own threshold


class PushPull:
    """An address; the sockets are made by their processes."""

    spins = False

    def __init__(self, case: Case) -> None:
        self._size_bytes = case.size_bytes
        self._address = f"ipc://{tempfile.mkdtemp(dir=case.scratch)}/socket"

    def sender(self) -> _Sender:
        return _Sender(self._address, self._size_bytes)

    def receiver(self) -> _Receiver:
        return _Receiver(self._address)

    def close(self) -> None:
        return


class _Sender:
    def __init__(self, address: str, size_bytes: int) -> None:
        self._context: Any = zmq.Context()
        self._socket = self._context.socket(zmq.PUSH)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 1)  # its reader may bind a moment later
        self._socket.connect(address)
        self._payload = Payload(size_bytes)
        self._copy = size_bytes < _COPY_BELOW_BYTES

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        self._socket.send(self._payload.bytes, copy=self._copy)

    def close(self) -> None:
        self._socket.close()
        self._context.term()


class _Receiver(Receiver):
    def __init__(self, address: str) -> None:
        self._context: Any = zmq.Context()
        self._socket = self._context.socket(zmq.PULL)
        self._socket.bind(address)

    def receive(self) -> Any:
        return self._socket.recv(copy=False).buffer

    def close(self) -> None:
        self._socket.close()
        self._context.term()
