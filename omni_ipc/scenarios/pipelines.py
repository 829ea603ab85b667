"""Pipelines whose outputs are known in advance, byte for byte."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from omni_ipc.serving.requests import Request

if TYPE_CHECKING:
    import torch


class ArrayPipeline:
    """Computes small numpy arrays on the host; needs no torch.

    Args:
        count: numbers (int64) in each output.
    """

    def __init__(self, count: int = 16) -> None:
        self._count = count

    def forward(self, batch: Sequence[Request]) -> list[np.ndarray[Any, Any]]:
        return [np.arange(self._count, dtype=np.int64) * _STRIDE + _seed(request.id) for request in batch]


class TensorPipeline:
    """Computes torch tensors of int64 on a device; the same numbers as `ArrayPipeline`.

    Args:
        device: torch's name of it: "cpu", "cuda".
        count: numbers in each output.
    """

    def __init__(self, device: str = "cpu", count: int = 65_536) -> None:
        import torch

        self._numbers = torch.arange(count, dtype=torch.int64, device=device)  # wakes the device

    def forward(self, batch: Sequence[Request]) -> list[torch.Tensor]:
        numbers = self._numbers
        return [numbers * _STRIDE + _seed(request.id) for request in batch]


def is_output_of(request: str, value: Any) -> bool:
    """Tell whether a value is, byte for byte, what either pipeline computes for a request."""
    received = np.asarray(value)
    (expected,) = ArrayPipeline(received.size).forward((Request(request),))
    return received.dtype == expected.dtype and received.shape == expected.shape and bool((received == expected).all())


_STRIDE = 2_654_435_761  # a large odd number: no two outputs share a run of bytes


def _seed(request: str) -> int:
    return zlib.crc32(request.encode())
