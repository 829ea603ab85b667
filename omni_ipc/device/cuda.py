"""A CUDA device: copies run on a stream of their own, ordered by events, into pinned memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from omni_ipc.device.api import DeviceEvent, HostMemory
from omni_ipc.errors import EnvironmentMissing, Full, UsageError

_SMALL_BYTES = 4 << 10  # so much travels beside its message, and needs no room


class CudaEvent:
    """A point on a CUDA stream; a thread that waits for it sleeps, and does not spin."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        self._event: Any = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        self._event.record(stream)

    def query(self) -> bool:
        return bool(self._event.query())

    def synchronize(self) -> None:
        self._event.synchronize()

    def hold_back(self, stream: torch.cuda.Stream) -> None:
        """Let what is issued to ``stream`` from now on start only behind this point."""
        stream.wait_event(self._event)


class CudaDevice:
    """One CUDA device, and the side stream on which its outputs leave it."""

    def __init__(self, index: int = 0) -> None:
        """Open the device.

        Raises:
            EnvironmentMissing: there is no such device here.
        """
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if index >= count:
            raise EnvironmentMissing(
                f"Device 'cuda:{index}' is not here: torch {torch.__version__} sees {count} CUDA devices.",
                "Use --device cpu, or run on a machine with a driver and a torch that is built for it.",
            )
        self.name = f"cuda:{index}"
        self._device = torch.device(self.name)
        self._memory: HostMemory | None = None
        self._pinned: list[int] = []  # addresses
        self._side = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]

    def record(self) -> CudaEvent:
        return CudaEvent(torch.cuda.current_stream(self._device))

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        """Copy the tensors on the side stream, and wait for the copies.

        Until then this call's references hold both the device's tensors and the buffers, even if it fails half-way.

        Raises:
            UsageError: ``after`` is no event of a CUDA device.
        """
        if not isinstance(after, CudaEvent):
            raise UsageError(f"after= is a {type(after).__name__}. Give what {self.name}'s record() returned.")
        with torch.cuda.stream(self._side):
            after.hold_back(self._side)
            try:
                return _map(self._issue_copy, tree)
            finally:
                CudaEvent(self._side).synchronize()

    def land_in(self, memory: HostMemory) -> None:
        self._memory = memory

    def pin(self, buffer: memoryview) -> None:
        """Register memory with CUDA; if it refuses, copies are staged by the driver: slower, and as right."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        if int(_cudart().cudaHostRegister(address, buffer.nbytes, 0)) == 0:
            self._pinned.append(address)

    def unpin(self) -> None:
        while self._pinned:
            _cudart().cudaHostUnregister(self._pinned.pop())

    def synchronize(self) -> None:
        torch.cuda.synchronize(self._device)

    def _issue_copy(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.device != self._device:
            return value
        source = value.detach()
        if self._memory is not None and source.nbytes > _SMALL_BYTES:
            try:
                room = self._memory.loan(source.nbytes, timeout=0)
                room.as_torch(str(source.dtype).removeprefix("torch."), source.shape).copy_(source, non_blocking=True)
                return room
            except (Full, UsageError):
                pass  # then by the way that always goes
        host = torch.empty(source.shape, dtype=source.dtype, pin_memory=True)
        return host.copy_(source, non_blocking=True)


def _cudart() -> Any:
    return torch.cuda.cudart()  # type: ignore[no-untyped-call]


def _map(fn: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to every leaf of nested lists, tuples and dicts."""
    if isinstance(tree, list):
        return [_map(fn, item) for item in tree]
    if isinstance(tree, tuple):
        return tuple(_map(fn, item) for item in tree)
    if isinstance(tree, dict):
        return {key: _map(fn, item) for key, item in tree.items()}
    return fn(tree)
