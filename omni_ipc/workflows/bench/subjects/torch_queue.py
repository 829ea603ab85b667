"""torch.multiprocessing.Queue: a tensor moved to shared memory, its descriptor sent by a server thread."""

from __future__ import annotations

from typing import Any

import torch
from torch import multiprocessing

from omni_ipc.workflows.bench.subject import Case, Payload, Receiver


class TorchQueue:
    """A queue, inherited by both."""

    spins = False

    def __init__(self, case: Case) -> None:
        self._queue: Any = multiprocessing.get_context("fork").Queue()
        self._size_bytes = case.size_bytes

    def sender(self) -> _Sender:
        return _Sender(self._queue, self._size_bytes)

    def receiver(self) -> _Receiver:
        return _Receiver(self._queue)

    def close(self) -> None:
        self._queue.close()


class _Sender:
    def __init__(self, queue: Any, size_bytes: int) -> None:
        torch.set_num_threads(1)
        self._queue = queue
        self._payload = Payload(size_bytes)
        self._tensor = torch.frombuffer(self._payload.bytes, dtype=torch.uint8)

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        self._queue.put(self._tensor.clone())  # a put moves the tensor itself to shared memory

    def close(self) -> None:
        self._queue.close()
        self._queue.join_thread()


class _Receiver(Receiver):
    def __init__(self, queue: Any) -> None:
        self._queue = queue

    def receive(self) -> Any:
        return self._queue.get().numpy()
