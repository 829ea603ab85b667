"""iceoryx2, publish and subscribe; the subscriber polls, as it has no other way to wait for data."""

from __future__ import annotations

import ctypes
import importlib.metadata
from pathlib import Path
from typing import Any

from omni_ipc.workflows.bench.subject import Case, Payload, Receiver, Work

importlib.metadata.version("iceoryx2")  # it is imported behind the fork only: it starts a thread

_QUEUED = 64


class Iceoryx:
    """The settings of a service; its ends are made by their processes."""

    spins = True

    def __init__(self, case: Case) -> None:
        self._case = case

    def sender(self) -> _Sender:
        return _Sender(self._case)

    def receiver(self) -> _Receiver:
        return _Receiver(self._case)

    def close(self) -> None:
        return


class _Sender:
    def __init__(self, case: Case) -> None:
        self._node, service = _service(case)
        self._publisher = service.publisher_builder().initial_max_slice_len(case.size_bytes).create()
        self._size_bytes = case.size_bytes
        self._payload = Payload(case.size_bytes) if case.work is Work.COPY else None

    def send(self, stamp: int) -> None:
        sample = self._publisher.loan_slice_uninit(self._size_bytes)
        if self._payload is None:
            words = sample.payload().as_memory_view().cast("B").cast("Q")
            words[0] = words[-1] = stamp
        else:
            self._payload.stamp(stamp)
            source = (ctypes.c_char * self._size_bytes).from_buffer(self._payload.bytes)
            ctypes.memmove(sample.payload_ptr, source, self._size_bytes)
        sample.assume_init().send()

    def close(self) -> None:
        self._publisher.delete()


class _Receiver(Receiver):
    def __init__(self, case: Case) -> None:
        self._node, service = _service(case)
        self._subscriber = service.subscriber_builder().create()
        self._sample: Any = None

    def receive(self) -> memoryview:
        while (sample := self._subscriber.receive()) is None:
            pass
        self._sample = sample
        view: memoryview = sample.payload().as_memory_view().cast("B")
        return view

    def release(self) -> None:
        self._sample.delete()

    def close(self) -> None:
        self._subscriber.delete()


def _service(case: Case) -> tuple[Any, Any]:
    import iceoryx2 as iox2

    iox2.set_log_level(iox2.LogLevel.Error)
    config = iox2.config.default()
    config.global_cfg.root_path = iox2.Path.new(case.scratch)
    config.global_cfg.prefix = iox2.FileName.new(f"{Path(case.scratch).name}_")
    node = iox2.NodeBuilder.new().config(config).create(iox2.ServiceType.Ipc)
    pattern = node.service_builder(iox2.ServiceName.new("bench")).publish_subscribe(iox2.Slice[ctypes.c_uint8])
    settings = pattern.subscriber_max_buffer_size(_QUEUED).history_size(1).enable_safe_overflow(False)
    return node, settings.open_or_create()
