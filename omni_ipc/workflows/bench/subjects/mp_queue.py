"""multiprocessing.Queue: a pipe behind a pickle and a thread."""

from __future__ import annotations

import multiprocessing
from typing import Any

from omni_ipc.workflows.bench.subject import Case, Payload, Receiver


class MpQueue:
    """A queue, inherited by both."""

    spins = False
    library: Any = multiprocessing

    def __init__(self, case: Case) -> None:
        self._queue = self.library.get_context("fork").Queue()
        self._size_bytes = case.size_bytes

    def sender(self) -> QueueSender:
        return QueueSender(self._queue, self._size_bytes)

    def receiver(self) -> Receiver:
        return _Receiver(self._queue)

    def close(self) -> None:
        self._queue.close()


class QueueSender:
    """Pickles a copy for each put."""

    def __init__(self, queue: Any, size_bytes: int) -> None:
        self._queue = queue
        self._size_bytes = size_bytes

    def send(self, stamp: int) -> None:
        payload = Payload(self._size_bytes)  # a thread pickles it, some time after the put
        payload.stamp(stamp)
        self._queue.put(payload.bytes)

    def close(self) -> None:
        self._queue.close()
        self._queue.join_thread()


class _Receiver(Receiver):
    def __init__(self, queue: Any) -> None:
        self.receive = queue.get  # type: ignore[method-assign]
