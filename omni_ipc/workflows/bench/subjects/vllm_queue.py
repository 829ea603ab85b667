"""vLLM's MessageQueue: one ring of fixed chunks in shared memory, larger messages beside it by ZMQ; pickled."""

from __future__ import annotations

from typing import Any

import numpy as np
from vllm.distributed.device_communicators.shm_broadcast import MessageQueue

from omni_ipc.workflows.bench.subject import Case, Payload, Receiver

_CHUNK_BYTES, _CHUNKS = 24 << 20, 10  # as vLLM's executor sets them
_PATIENCE_S = 60.0


class VllmQueue:
    """The writer's end, which the fork hands on, and what its reader needs to attach."""

    spins = True

    def __init__(self, case: Case) -> None:
        self._queue: Any = MessageQueue(1, 1, max_chunk_bytes=_CHUNK_BYTES, max_chunks=_CHUNKS)
        self._handle = self._queue.export_handle()
        self._size_bytes = case.size_bytes

    def sender(self) -> _Sender:
        return _Sender(self._queue, self._size_bytes)

    def receiver(self) -> _Receiver:
        return _Receiver(MessageQueue.create_from_handle(self._handle, 0))

    def close(self) -> None:
        del self._queue


class _Sender:
    def __init__(self, queue: Any, size_bytes: int) -> None:
        self._queue = queue
        self._payload = Payload(size_bytes)
        self._array = np.frombuffer(self._payload.bytes, np.uint8)
        queue.wait_until_ready()

    def send(self, stamp: int) -> None:
        self._payload.stamp(stamp)
        self._queue.enqueue(self._array)

    def close(self) -> None:
        return


class _Receiver(Receiver):
    def __init__(self, queue: Any) -> None:
        self._queue = queue
        queue.wait_until_ready()

    def receive(self) -> Any:
        return self._queue.dequeue(timeout=_PATIENCE_S)
