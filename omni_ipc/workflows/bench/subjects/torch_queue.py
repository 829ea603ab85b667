"""torch.multiprocessing.Queue: a tensor moved to shared memory, its descriptor sent by a server thread."""

from __future__ import annotations

from typing import Any

import torch
from torch import multiprocessing

from omni_ipc.workflows.bench.subject import Payload, Receiver
from omni_ipc.workflows.bench.subjects.mp_queue import MpQueue, QueueSender


class TorchQueue(MpQueue):
    """A queue, inherited by both, that moves tensors."""

    library = multiprocessing

    def sender(self) -> QueueSender:
        return _Sender(self._queue, self._size_bytes)

    def receiver(self) -> Receiver:
        return _Receiver(self._queue)


class _Sender(QueueSender):
    def __init__(self, queue: Any, size_bytes: int) -> None:
        super().__init__(queue, size_bytes)
        torch.set_num_threads(1)
        self._payload = Payload(size_bytes)
        self._tensor = torch.frombuffer(self._payload.bytes, dtype=torch.uint8)

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        self._queue.put(self._tensor.clone())  # a put moves the tensor itself to shared memory


class _Receiver(Receiver):
    def __init__(self, queue: Any) -> None:
        self._queue = queue

    def receive(self) -> Any:
        return self._queue.get().numpy()
