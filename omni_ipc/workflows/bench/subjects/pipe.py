"""multiprocessing.Pipe: a Unix socket; the bytes go through the kernel."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

from omni_ipc.workflows.bench.subject import Case, Payload, Receiver


class Pipe:
    """Both ends of a pipe."""

    spins = False

    def __init__(self, case: Case) -> None:
        self._reading, self._writing = multiprocessing.Pipe(duplex=False)
        self._size_bytes = case.size_bytes

    def sender(self) -> _Sender:
        return _Sender(self._writing, self._size_bytes)

    def receiver(self) -> _Receiver:
        return _Receiver(self._reading)

    def close(self) -> None:
        self._reading.close()
        self._writing.close()


class _Sender:
    def __init__(self, connection: Connection, size_bytes: int) -> None:
        self._connection = connection
        self._payload = Payload(size_bytes)

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        self._connection.send_bytes(self._payload.bytes)

    def close(self) -> None:
        self._connection.close()


class _Receiver(Receiver):
    def __init__(self, connection: Connection) -> None:
        self.receive = connection.recv_bytes  # type: ignore[method-assign]
