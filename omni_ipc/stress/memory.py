"""Where outputs of a soak are made: host or device; how much of it is held, and what becomes of it in a sleep."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from omni_ipc.stress.late import Late
from omni_ipc.stress.outputs import PERIOD, Leaf, lay, pattern

POISON = 0xDB
"""What a sleep writes over all that was made."""

_CYCLES_A_SECOND = 1.5e9  # of a GPU, about
_ASKED_FOR = "requested_bytes.all.current"  # a block that torch gives may be a MiB larger, with nothing else in it

_KEPT = "reserved_bytes.all.current"  # by torch, from the device's driver


class Memory(Protocol):
    """Where outputs are made."""

    def tensor(self, leaf: Leaf) -> Any:
        """Give a tensor with its bytes of the pattern."""

    def rows(self, leaves: Sequence[Leaf]) -> list[Any]:
        """Give tensors of one shape, which are the rows of one."""

    def delay(self, seconds: float) -> Any:
        """Let the device come to what was issued so much later; gives what the output says of it."""

    def held_bytes(self) -> int:
        """Tell how much memory there is to what was made and is still looked at."""

    def kept_bytes(self) -> int | None:
        """Tell how much of a device's memory this process keeps, used or not; None without a device."""

    def leave(self) -> None:
        """Spoil all that was made, and give it back."""


class HostMemory:
    """Numpy arrays; lateness is the business of the device that copies them."""

    def __init__(self) -> None:
        self._made: list[weakref.ref[np.ndarray[Any, Any]]] = []

    def tensor(self, leaf: Leaf) -> Any:
        flat = self._new(leaf.nbytes)
        lay(flat, pattern(), leaf.start)
        if leaf.dtype == "bool":
            flat &= 1
        array = flat.view(leaf.dtype).reshape(leaf.shape)
        return np.moveaxis(array, 0, -1) if leaf.channels_last else array

    def rows(self, leaves: Sequence[Leaf]) -> list[Any]:
        width = leaves[0].nbytes
        storage = self._new(width * len(leaves)).reshape(len(leaves), width)
        for row, leaf in zip(storage, leaves, strict=True):
            lay(row, pattern(), leaf.start)
        return [*storage]

    def delay(self, seconds: float) -> Any:
        return Late(seconds) if seconds else 0.0

    def held_bytes(self) -> int:
        return sum(array.nbytes for made in self._made if (array := made()) is not None)

    def kept_bytes(self) -> None:
        """Say nothing: memory of the host is looked at from outside."""

    def leave(self) -> None:
        for made in self._made:
            if (array := made()) is not None:
                array[...] = POISON
        self._made.clear()

    def _new(self, nbytes: int) -> np.ndarray[Any, Any]:
        array = np.empty(nbytes, np.uint8)
        self._made = [made for made in self._made if made() is not None]
        self._made.append(weakref.ref(array))
        return array


class DeviceMemory:
    """Torch tensors; all that makes and delays them is issued to the device's current stream."""

    def __init__(self, device: str) -> None:
        import torch

        self._torch = torch
        self._device = torch.device(device)
        self._of_kind = getattr(torch, self._device.type)  # torch.cuda, torch.xpu
        self._period: Any = None
        self._numbers = itertools.count()
        self._made: dict[int, Any] = {}  # bytes of what is still looked at

    def tensor(self, leaf: Leaf) -> Any:
        flat = self._filled(leaf.nbytes, leaf.start)
        if leaf.dtype == "bool":
            flat &= 1
        tensor = flat.view(getattr(self._torch, leaf.dtype)).reshape(leaf.shape)
        return self._noted(flat, tensor.movedim(0, -1) if leaf.channels_last else tensor)

    def rows(self, leaves: Sequence[Leaf]) -> list[Any]:
        storage = self._torch.empty((len(leaves), leaves[0].nbytes), dtype=self._torch.uint8, device=self._device)
        for row, leaf in zip(storage, leaves, strict=True):
            lay(row, self._pattern(), leaf.start)
        return [self._noted(row, row) for row in storage]

    def delay(self, seconds: float) -> float:
        if seconds and self._device.type == "cuda":
            with self._of_kind.device(self._device):
                self._of_kind._sleep(int(seconds * _CYCLES_A_SECOND))
        return seconds

    def held_bytes(self) -> int:
        period = 0 if self._period is None else PERIOD
        return self._counted(_ASKED_FOR) - period

    def kept_bytes(self) -> int:
        return self._counted(_KEPT)

    def leave(self) -> None:
        for flat in [*self._made.values()]:
            flat.fill_(POISON)
        self._made.clear()
        self._period = None
        self._of_kind.empty_cache()

    def _counted(self, name: str) -> int:
        return int(self._of_kind.memory_stats(self._device).get(name, 0))

    def _noted(self, flat: Any, tensor: Any) -> Any:
        """Note what a tensor's bytes are, for as long as anybody has it."""
        number = next(self._numbers)
        self._made[number] = flat.detach()  # another object over the same memory, which keeps no tensor alive
        weakref.finalize(tensor, self._made.pop, number, None).atexit = False
        return tensor

    def _filled(self, nbytes: int, start: int) -> Any:
        flat = self._torch.empty(nbytes, dtype=self._torch.uint8, device=self._device)
        lay(flat, self._pattern(), start)
        return flat

    def _pattern(self) -> Any:
        if self._period is None:
            self._period = self._torch.from_numpy(pattern().copy()).to(self._device)
        return self._period
