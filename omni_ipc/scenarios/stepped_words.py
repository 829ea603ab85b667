"""Words of which each access is a step that a model speaks of.

The product knows its accesses by words and offsets. Here each that has a name lies in a region of its own, which is
called so, and others may come between any two of them. Who has named them hears of each step, within it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from omni_ipc.records import Field
from omni_ipc.seam.api import Runtime, Words
from omni_ipc.transport.layout import RING_OFFSET

__tracebackhide__ = True  # a step is at the line of the product that asked for the access

Access = tuple[str | int, ...]
"""What is done, to which word, and with which value, if that matters: ("load", 48), ("store", 48, 1); and ("write",) is
to write to the ring."""

_WORD_BYTES = 8


class Listener(Protocol):
    """Hears of the steps of one side."""

    def accessed(self, action: str, fields: Mapping[str, Field]) -> object:
        """Hear of a step; what was loaded or stored is its field "value"."""

    def timed_out(self) -> object:
        """Hear of a sleep that nothing but its bound has ended."""


class SteppedWords:
    """Words as one side uses them.

    Args:
        names: of the accesses that are steps; all others are what they are without this.
        of_bytes: gives the fields of a step that writes bytes to the ring, by their offset.
    """

    def __init__(
        self,
        rt: Runtime,
        words: Words,
        names: Mapping[Access, str],
        listener: Listener,
        *,
        of_bytes: Callable[[int, bytes], Mapping[str, Field]],
    ) -> None:
        self._rt = rt
        self._words = words
        self._names = names
        self._listener = listener
        self._of_bytes = of_bytes
        self.read, self.fence = words.read, words.fence

    def load(self, index: int) -> int:
        name = self._names.get(("load", index))
        if name is None:
            return self._words.load(index)
        with self._rt.region(name):
            found = self._words.load(index)
            self._listener.accessed(name, {"value": found})
        return found

    def store(self, index: int, value: int) -> None:
        name = self._names.get(("store", index, value), self._names.get(("store", index)))
        with self._step(name, {"value": value}):
            self._words.store(index, value)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write bytes; to write those of a word is a store of it, though one that releases nothing."""
        access: Access = ("write",) if offset >= RING_OFFSET else ("store", offset // _WORD_BYTES)
        with self._step(self._names.get(access), self._of_bytes(offset, bytes(data)) if access == ("write",) else {}):
            self._words.write(offset, data)

    def wait(self, index: int, value: int, timeout: float) -> bool:
        name = self._names.get(("wait", index))
        if name is None:
            return self._words.wait(index, value, timeout)
        self._words.fence()  # as each system call is one; within a region it would not wait for the stores
        with self._rt.region(name):
            in_time = self._words.wait(index, value, timeout)
            if not in_time:
                self._listener.timed_out()
        return in_time

    def wake(self, index: int) -> None:
        if (name := self._names.get(("wake", index))) is not None:
            self._words.fence()
        with self._step(name, {}):
            self._words.wake(index)

    @contextlib.contextmanager
    def _step(self, name: str | None, fields: Mapping[str, Field]) -> Iterator[None]:
        if name is None:
            yield
            return
        with self._rt.region(name, **fields):
            yield
            self._listener.accessed(name, fields)
