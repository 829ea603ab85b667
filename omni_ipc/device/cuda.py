"""A CUDA device: what it has beyond other accelerators of torch's."""

from __future__ import annotations

import contextlib
import ctypes
from contextlib import AbstractContextManager
from typing import Any

import torch

from omni_ipc.device.accelerator import Accelerator


class CudaDevice(Accelerator):
    """One CUDA device; it copies straight into memory that was registered with it."""

    def __init__(self, index: int = 0) -> None:
        super().__init__("cuda", index)
        self._pinned: list[int] = []  # addresses

    def pin(self, buffer: memoryview) -> None:
        """Register memory with CUDA; if it refuses, copies are staged by the driver: slower, and as right."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        with self._current():
            if int(_cudart().cudaHostRegister(address, buffer.nbytes, 0)) == 0:
                self._pinned.append(address)
            else:
                self._forget_refusal()

    def close(self) -> None:
        with self._current():
            while self._pinned:
                _cudart().cudaHostUnregister(self._pinned.pop())
        super().close()

    def _current(self) -> AbstractContextManager[None]:
        """Be on this device: elsewhere the calling thread would open a context on the first one, half a gigabyte."""
        there: AbstractContextManager[None] = torch.cuda.device(self._device)
        return there

    def _forget_refusal(self) -> None:
        """Let torch report it now: it would take it for an error of the kernel that this thread launches next."""
        with contextlib.suppress(RuntimeError):
            torch.zeros(1, device=self._device).add_(1)

    def _event(self) -> Any:
        return torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]


def _cudart() -> Any:
    return torch.cuda.cudart()  # type: ignore[no-untyped-call]
