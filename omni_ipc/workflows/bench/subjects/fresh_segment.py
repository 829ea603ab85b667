"""A fresh POSIX segment for each message, its name in a pipe: what a large tensor often travels by."""

from __future__ import annotations

import itertools
import multiprocessing
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from omni_ipc.workflows.bench.subject import Case, Payload, Receiver


class FreshSegment:
    """A pipe for the names."""

    spins = False

    def __init__(self, case: Case) -> None:
        resource_tracker.ensure_running()  # one for both: else that of the writer calls each segment leaked
        self._names, self._telling = multiprocessing.Pipe(duplex=False)
        self._case = case

    def sender(self) -> _Sender:
        return _Sender(self._telling, self._case)

    def receiver(self) -> _Receiver:
        return _Receiver(self._names)

    def close(self) -> None:
        self._names.close()
        self._telling.close()


class _Sender:
    def __init__(self, telling: Connection, case: Case) -> None:
        self._telling = telling
        self._payload = Payload(case.size_bytes)
        self._names = (f"{Path(case.scratch).name}.{number}" for number in itertools.count())

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        segment = SharedMemory(next(self._names), create=True, size=len(self._payload.bytes))
        memory = segment.buf
        assert memory is not None
        memory[:] = self._payload.bytes
        del memory
        self._telling.send_bytes(segment.name.encode())
        segment.close()

    def close(self) -> None:
        self._telling.close()


class _Receiver(Receiver):
    def __init__(self, names: Connection) -> None:
        self._names = names
        self._segment: SharedMemory | None = None

    def receive(self) -> memoryview:
        self._segment = SharedMemory(self._names.recv_bytes().decode())
        memory = self._segment.buf
        assert memory is not None
        return memory

    def release(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment.unlink()
            self._segment = None

    def close(self) -> None:
        self.release()
