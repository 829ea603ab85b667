"""What whoever looks at a slot keeps alive; its end, early if told so, gives the slot back, once.

    memoryview ──► array ──► view of the array ──► …
         └──────── all of them keep one Hold alive

A memoryview or an array could not stand in for it: a view of a view refers to the memory's owner, and not to the view
between. So a hold is an array of ctypes, which lies in the slot itself and owns none of it; its class is made once for
each size.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Hashable
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from omni_ipc.transport.geometry import Geometry

IN_SIZED_CLASSES: tuple[str, ...] = ()
"""Slots of the classes here: an array can only be joined with a class that has none."""


class Owner(Protocol):
    """An end of a slab, that is told when nobody looks at a slot any more."""

    def end(self, slot: int, generation: int) -> None:
        """Take note; called by whichever thread, even by the garbage collector between any two instructions."""


class Hold:
    """A view of one slot that can end; its `now` happens once, whichever threads call it.

    A forked child ends nothing of its parent's.
    """

    __slots__ = IN_SIZED_CLASSES
    FIELDS: ClassVar[tuple[str, ...]] = ("_armed", "_owner", "generation", "slot")

    process: ClassVar[object] = object()  # another one in a forked child

    slot: int
    generation: int
    _owner: Owner
    _armed: list[object]  # the process that it may end in; empty once it has, or shall not

    def now(self) -> None:
        """End it, unless it has."""
        if armed := self._armed:
            try:
                process = armed.pop()  # of two threads, one gets it
            except IndexError:
                return
            if process is self.process:
                self._owner.end(self.slot, self.generation)

    def never(self) -> None:
        """Forget it."""
        self._armed.clear()

    __del__ = now

    def memory(self) -> memoryview:
        """View the slot, whether it is held or not: writable, of format "B"."""
        return memoryview(self).cast("B")  # type: ignore[arg-type]


H = TypeVar("H", bound=Hold)


class Windows(Generic[H]):
    """Where the slots of a slab lie in this process."""

    def __init__(self, kind: type[H], buffer: memoryview, geometry: Geometry) -> None:
        """Map every slot.

        Args:
            kind: of the holds.
            buffer: the slab's segment, as this process maps it.
            geometry: of the slab.
        """
        self.memory = buffer[:]  # a view of our own: as long as it lives, nobody can unmap what lies behind it
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        """Address of the slab's first byte."""
        self._slots = [
            (_sized(cast("Hashable", kind), nbytes), self.start + offset) for offset, nbytes in geometry.spans
        ]

    def hold(self, owner: Owner, slot: int, generation: int) -> H:
        """Look at a slot, and have ``owner.end(slot, generation)`` called once nobody does any more.

        Args:
            owner: of these windows: the hold keeps it alive, and it keeps them.
            slot: which.
            generation: with which the slot is on its way.
        """
        kind, address = self._slots[slot]
        hold: H = kind.from_address(address)
        hold._armed = [Hold.process]
        hold._owner = owner
        hold.slot = slot
        hold.generation = generation
        return hold


@functools.cache
def _sized(kind: Any, nbytes: int) -> Any:
    """Make the class of holds on so many bytes."""
    return type(f"{kind.__name__}{nbytes}", (kind, ctypes.c_ubyte * nbytes), {"__slots__": kind.FIELDS})


def _forget_parents() -> None:
    Hold.process = object()


os.register_at_fork(after_in_child=_forget_parents)
