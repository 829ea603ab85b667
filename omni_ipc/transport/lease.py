"""The reading end of a slab: read-only views of slots, and leases that give the slots back.

    TENSOR record (slot, generation) ──► SlabReader.lease ──► memoryview ──► array ──► view of the array ──► …
                                              │                    └──────── all of them keep one Hold alive
    release word (slot, reader) ◄── generation ┴─── Lease.release(), or the Hold's end: whichever comes first, once

Nothing but the reader writes to its release words, so no counter is shared, and a broadcast needs no more than a lane.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

from omni_ipc.errors import FormatError, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.geometry import SLOT_PARKED, Geometry


class End(weakref.ref[Any]):
    """What happens once nobody looks at a part of a mapping any more: once, early if told so, or never.

    As `weakref.finalize`, but quicker, and a forked child ends nothing of its parent's.
    """

    __slots__ = ("_act", "_args")

    _PENDING: ClassVar[dict[int, End]] = {}  # nothing else keeps them

    _act: Callable[..., object]
    _args: tuple[object, ...]

    @classmethod
    def of(cls, held: object, act: Callable[..., object], *args: object) -> End:
        """Have ``act(*args)`` called at the end of ``held``."""
        end = cls(held, cls.now)
        end._act, end._args = act, args
        cls._PENDING[id(end)] = end
        return end

    @property
    def pending(self) -> bool:
        """Tell whether it still may happen."""
        return id(self) in self._PENDING

    def now(self) -> None:
        """Let it happen, unless it has; whichever threads call this, one of them does it."""
        if self._PENDING.pop(id(self), None) is not None:
            self._act(*self._args)

    def never(self) -> None:
        """Forget it."""
        self._PENDING.pop(id(self), None)


os.register_at_fork(after_in_child=End._PENDING.clear)


def hold(
    buffer: memoryview, offset: int, nbytes: int, act: Callable[..., object], *args: object
) -> tuple[memoryview, End]:
    """View a part of a buffer, and have ``act(*args)`` called once nobody views it any more.

    The view, its slices, and the arrays and tensors over them keep alive one object of ours; a memoryview or an array
    could not stand in for it, because a view of a view refers to the memory's owner and not to the view between.

    Returns:
        the view, writable, of format "B"; and its end.
    """
    held = (ctypes.c_ubyte * nbytes).from_buffer(buffer, offset)
    return memoryview(held).cast("B"), End.of(held, act, *args)


class Lease:
    """A reader's hold on one slot.

    Released, the slot's bytes may change under every array that still looks at them: Python cannot take memory away
    from an array. What can be refused is refused (`view`), and a poisoned slab shows it.
    """

    __slots__ = ("_end", "_rt", "_view", "generation", "slot")

    def __init__(self, rt: Runtime, slot: int, generation: int, view: memoryview, end: End) -> None:
        self.slot = slot
        self.generation = generation
        self._rt = rt
        self._view: memoryview | None = view
        self._end = end

    @property
    def view(self) -> memoryview:
        """The slot's bytes; writable only because torch knows no read-only tensor, and never to be written.

        Raises:
            UsageError: the lease was released.
        """
        if self._view is None:
            raise UsageError(
                f"Slot {self.slot} was released, and may hold other data by now. Copy what you need before release()."
            )
        return self._view

    @property
    def released(self) -> bool:
        """Tell whether the slot was given back."""
        return not self._end.pending

    def release(self) -> None:
        """Give the slot back; idempotent. Without a call it goes back with the last array that looks at it.

        Points: Lease.Release.
        """
        with self._rt.region("Lease.Release", slot=self.slot):
            self._end.now()
        self._view = None


class SlabReader:
    """One reader's end of a slab, of any number of its threads."""

    def __init__(self, *, rt: Runtime, buffer: memoryview, name: str, reader: int = 0) -> None:
        """Open a slab that was laid into the buffer.

        Args:
            rt: this process's runtime.
            buffer: the slab's segment, as this process maps it.
            name: for messages.
            reader: which of the slab's readers this is; nobody else may be the same.

        Raises:
            FormatError: the buffer holds no slab of this version and geometry.
            UsageError: the slab has no such reader.
        """
        self.geometry = Geometry.read(buffer, name)
        if not 0 <= reader < self.geometry.readers:
            raise UsageError(f"Slab '{name}' has {self.geometry.readers} readers, and none is {reader}. Count from 0.")
        self.name = name
        self.reader = reader
        self._rt = rt
        self._buffer = buffer
        self._words = rt.words(buffer[: self.geometry.words_bytes])
        self._ended: deque[tuple[int, int]] = deque()
        self._telling = rt.lock()

    def lease(self, slot: int, generation: int) -> Lease:
        """Take hold of a slot that a record names.

        Raises:
            FormatError: there is no such slot, or it is on its way with another generation.
        """
        if slot >= self.geometry.slots:
            raise FormatError(f"slot: {slot}, and slab '{self.name}' has {self.geometry.slots}.")
        current = self._words.load(self.geometry.generation_word(slot))  # SYNC slab.generation
        if current != generation:
            raise FormatError(f"generation: slot {slot} is at {current}, and the record at {generation}: it is stale.")
        offset, nbytes = self.geometry.span(slot)
        view, end = hold(self._buffer, offset, nbytes, self._end, slot, generation)
        return Lease(self._rt, slot, generation, view, end)

    def _end(self, slot: int, generation: int) -> None:
        """Tell the writer that a lease has ended.

        The garbage collector may call this in any thread between any two instructions, those of this very method
        included. So it opens no region and never waits: who finds the lock taken leaves the slot to its holder, who
        looks once more after letting go.
        """
        self._ended.append((slot, generation))
        while self._ended and self._telling.acquire(blocking=False):
            try:
                self._tell()
            finally:
                self._telling.release()

    def _tell(self) -> None:
        while self._ended:
            slot, generation = self._ended.popleft()
            self._words.store(self.geometry.release_word(slot, self.reader), generation)  # SYNC slab.release
        self._words.fence()
        if self._words.load(SLOT_PARKED):  # the bell of bell.py, without its region
            self._words.store(SLOT_PARKED, 0)
            self._words.wake(SLOT_PARKED)
