"""Tells the memory behind views apart, the same in every schedule."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Hashable
from typing import Any

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.sleeper import Sleeper

_MAPPING = "mapping"


class Memories:
    """Names the memory behind buffers, and keeps the lists of those who sleep on its words; one to a run.

    Memory that cannot be told from other memory in the same way in every schedule (a mapping that another one may
    alias, a buffer that is first seen while several tasks live) is taken to be one and the same: that costs precision,
    and misses nothing.
    """

    def __init__(self) -> None:
        self._names: dict[int, tuple[object, Hashable]] = {}
        self.sleepers: dict[Hashable, list[Sleeper]] = {}

    def place(self, kernel: Kernel, buffer: memoryview) -> tuple[Hashable, int]:
        """Return the name of the memory that a buffer views, and the byte at which the view begins."""
        owner = _owner(buffer)
        return self._name(kernel, owner), address(buffer) - address(owner)

    def _name(self, kernel: Kernel, owner: Any) -> Hashable:
        if isinstance(owner, mmap.mmap):
            return _MAPPING
        if id(owner) not in self._names:
            maker, number = kernel.identify()
            name = (maker.key, number) if len(kernel.living) == 1 else _MAPPING
            self._names[id(owner)] = (owner, name)  # the owner is kept, so that its id stays its own
        return self._names[id(owner)][1]


def address(buffer: Any) -> int:
    """Return the address of the first byte of a writable buffer."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def _owner(buffer: Any) -> Any:
    """Return the object that owns the memory behind views of views."""
    while True:
        base = buffer.obj if isinstance(buffer, memoryview) else getattr(buffer, "base", None)
        if base is None:
            return buffer
        buffer = base
