"""A pipeline without a model: outputs of chosen size, after a chosen time, known in advance byte for byte."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from omni_ipc.seam.api import Runtime
from omni_ipc.serving.requests import Request

_SHIFTS = 251  # outputs that can be told apart
_STRIDE = 2_654_435_761  # a large odd number


class Synthetic:
    """Gives each request a view of one pattern that was made before: a forward costs what it sleeps, and no more.

    A request may choose for itself: ``options={"nbytes": 4096, "forward_s": 0.2}``.

    Args:
        device: "cpu" gives numpy arrays, all else torch tensors there.
        nbytes: of each tensor.
        tensors: in each output.
        forward_s: how long a forward takes; of a batch, the longest that one of its requests asks for.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        device: str = "cpu",
        nbytes: int = 3 << 19,
        tensors: int = 1,
        forward_s: float = 0.0,
    ) -> None:
        self._rt = rt
        self._device = device
        self._nbytes = nbytes
        self._tensors = tensors
        self._forward_s = forward_s
        self._pattern: Any = None
        self._grow(nbytes)

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        """Sleep, and give each request its tensors: ``{"tensors": [...], "request": id}``."""
        sizes = [self._size(request) for request in batch]
        self._grow(max([size for size in sizes if isinstance(size, int)], default=0))
        if (seconds := max(float(request.options.get("forward_s") or self._forward_s) for request in batch)) > 0:
            self._rt.sleep(seconds)
        return [
            size if isinstance(size, Exception) else self._output(request, size)
            for request, size in zip(batch, sizes, strict=True)
        ]

    def _output(self, request: Request, nbytes: int) -> dict[str, Any]:
        shift = _shift(request.id)
        return {"tensors": [self._pattern[shift : shift + nbytes]] * self._tensors, "request": request.id}

    def _size(self, request: Request) -> int | ValueError:
        size = request.options.get("nbytes", self._nbytes)
        if isinstance(size, int) and size >= 0:
            return size
        return ValueError(f"Request '{request.id}' asks for nbytes={size!r}. Give a number of bytes.")

    def _grow(self, nbytes: int) -> None:
        """Make a longer pattern if need be; outputs of the old one keep it."""
        if self._pattern is not None and len(self._pattern) >= nbytes + _SHIFTS:
            return
        self._pattern = _pattern(nbytes + _SHIFTS)
        if self._device != "cpu":
            import torch

            self._pattern = torch.from_numpy(self._pattern).to(self._device)


def expected(request: str, nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Give the bytes of each tensor in the output of a request, by its id."""
    shift = _shift(request)
    return _pattern(nbytes + _SHIFTS)[shift : shift + nbytes]


def _pattern(nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    words = np.arange(-(-nbytes // 8), dtype=np.uint64) * np.uint64(_STRIDE)
    return words.view(np.uint8)[:nbytes]


def _shift(request: str) -> int:
    return zlib.crc32(request.encode()) % _SHIFTS
