"""The model of a soak: outputs that are planned byte for byte, made on the device, anew for each request.

What a request asks for is in its options: ``kind``, ``nbytes`` and ``salt`` of its output (outputs.py), ``forward_s``
that the forward takes, ``late_s`` by which the device comes to the output later, ``trouble`` that it shall make.

What was made and is on its way takes memory, also where nobody wants it any more: clients who have left count theirs
no longer. So a forward waits, once there is too much of it, until some has left.
"""

from __future__ import annotations

import enum
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from omni_ipc.errors import UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.requests import Request
from omni_ipc.stress import stacks
from omni_ipc.stress.late import Late
from omni_ipc.stress.outputs import PERIOD, Kind, Leaf, difference, lay, make, pattern, plan

POISON = 0xDB

_ROOM_S = 60.0  # until there is memory for a batch
_LOOK_S = 0.002


class Trouble(enum.StrEnum):
    """What a request may ask for in place of an output."""

    RAISE = "raise"  # an error of its own
    UNFIT = "unfit"  # an output that cannot travel


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

    def tensor(self, leaf: Leaf) -> Any:
        flat = self._filled(leaf.nbytes, leaf.start)
        if leaf.dtype == "bool":
            flat &= 1
        tensor = flat.view(getattr(self._torch, leaf.dtype)).reshape(leaf.shape)
        return tensor.movedim(0, -1) if leaf.channels_last else tensor

    def rows(self, leaves: Sequence[Leaf]) -> list[Any]:
        storage = self._torch.empty((len(leaves), leaves[0].nbytes), dtype=self._torch.uint8, device=self._device)
        for row, leaf in zip(storage, leaves, strict=True):
            lay(row, self._pattern(), leaf.start)
        return [*storage]

    def delay(self, seconds: float) -> float:
        if seconds and self._device.type == "cuda":
            self._torch.cuda._sleep(int(seconds * _CYCLES_A_SECOND))  # type: ignore[no-untyped-call]
        return seconds

    def held_bytes(self) -> int:
        period = 0 if self._period is None else PERIOD
        return int(self._of_kind.memory_allocated(self._device)) - period

    def leave(self) -> None:
        self._period = None
        self._of_kind.empty_cache()

    def _filled(self, nbytes: int, start: int) -> Any:
        flat = self._torch.empty(nbytes, dtype=self._torch.uint8, device=self._device)
        lay(flat, self._pattern(), start)
        return flat

    def _pattern(self) -> Any:
        if self._period is None:
            self._period = self._torch.from_numpy(pattern().copy()).to(self._device)
        return self._period


_CYCLES_A_SECOND = 1.5e9  # of a GPU, about


class Varied:
    """Gives each request what it asks for; looks at the inputs that came with it.

    Args:
        most_bytes: of outputs that are on their way at a time; what is larger goes alone. None: no bound.
    """

    def __init__(self, *, rt: Runtime, device: str = "cpu", most_bytes: int | None = None) -> None:
        self._rt = rt
        self._most_bytes = most_bytes
        self._memory: Memory = HostMemory() if device == "cpu" else DeviceMemory(device)

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        """Make an output a request; the rows of a batch lie in one tensor.

        Raises:
            MemoryError: what was made before stays, and leaves no room.
        """
        self._await_room(sum(int(request.options["nbytes"] or 0) for request in batch))
        self._rt.sleep(max(float(request.options["forward_s"] or 0) for request in batch))
        late = [self._memory.delay(float(request.options["late_s"] or 0)) for request in batch]  # ids may be the same
        rows = self._rows(batch)
        return [self._output(request, rows.get(place), late[place]) for place, request in enumerate(batch)]

    def sleep(self, level: int) -> None:
        """Spoil what outputs look into: none of them may still be on its way."""
        self._memory.leave()

    def wake(self) -> None:
        """Do nothing: what is needed is made when it is needed."""

    def _await_room(self, nbytes: int) -> None:
        if self._most_bytes is None:
            return
        deadline_s = self._rt.now() + _ROOM_S
        while (held := self._memory.held_bytes()) and held + nbytes > self._most_bytes:
            if self._rt.now() > deadline_s:
                raise MemoryError(
                    f"a batch of {nbytes:,} bytes has no room: {held:,} of {self._most_bytes:,} bytes are still held "
                    f"by outputs that were made {_ROOM_S:g} s before, or earlier"
                )
            self._rt.sleep(_LOOK_S)

    def _output(self, request: Request, row: Any, late: Any) -> Any:
        match request.options["trouble"]:
            case Trouble.RAISE:
                return RuntimeError(f"request '{request.id}' was to fail")
            case Trouble.UNFIT:
                return {"late": late, "image": object()}
        planned = plan_of(request)
        if request.inputs is not None and (wrong := difference(planned, request.inputs, "inputs")) is not None:
            return ValueError(wrong)
        value = make(self._memory.tensor, planned) if row is None else {"image": row}
        return {"late": late, "value": value}

    def _rows(self, batch: Sequence[Request]) -> dict[int, Any]:
        """Make the rows of each size, by the places of their requests."""
        wanted: dict[int, list[int]] = {}
        for place, request in enumerate(batch):
            if request.options["kind"] == Kind.ROW and not request.options["trouble"]:
                wanted.setdefault(int(request.options["nbytes"] or 0), []).append(place)
        rows: dict[int, Any] = {}
        for places in wanted.values():
            leaves = [plan_of(batch[place])["image"] for place in places]
            rows.update(zip(places, self._memory.rows(leaves), strict=True))
        return rows


def varied(*, rt: Runtime, device: str = "cpu", most_bytes: int | None = None) -> Varied:
    """Make the model of a worker, whose process says where it stands when it is asked."""
    stacks.answer()
    return Varied(rt=rt, device=device, most_bytes=most_bytes)


def plan_of(request: Request) -> Any:
    """Say what the output of a request is."""
    kind, nbytes, salt = (request.options[name] for name in ("kind", "nbytes", "salt"))
    if not (isinstance(kind, str) and isinstance(nbytes, int) and isinstance(salt, int)):
        raise UsageError(f"Request '{request.id}' asks for {kind!r}, {nbytes!r}, {salt!r}. Let `load.py` make it.")
    return plan(Kind(kind), nbytes, salt)
