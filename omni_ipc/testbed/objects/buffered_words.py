"""Shared words where stores are buffered: a store is no step, its arrival in memory is; see `buffering`."""

from __future__ import annotations

import sys

from omni_ipc.testbed.buffering import BufferingKernel, Store
from omni_ipc.testbed.objects.memory import Memories, address
from omni_ipc.testbed.objects.words import WORD_BYTES, ControlledWords, Span, Word
from omni_ipc.testbed.operations import Operation, Reading


class BufferedWords(ControlledWords):
    """A view of a writable buffer as words."""

    __slots__ = ("_address", "_buffering")

    def __init__(self, kernel: BufferingKernel, memories: Memories, buffer: memoryview) -> None:
        super().__init__(kernel, memories, buffer)
        self._buffering = kernel
        self._address = address(buffer)

    def load(self, index: int) -> int:
        self.kernel.perform(_Look("words.load", self.word(index), _nothing))
        return int.from_bytes(self._seen(index * WORD_BYTES, WORD_BYTES), sys.byteorder)

    def store(self, index: int, value: int) -> None:
        flush = Operation("words.flush", self.word(index), _nothing, extra={"value": value})
        self._buffer(flush, index * WORD_BYTES, value.to_bytes(WORD_BYTES, sys.byteorder), releases=True)

    def read(self, offset: int, nbytes: int) -> bytearray:
        if nbytes:
            self.kernel.perform(_Look("words.read", self.span(offset, nbytes), _nothing))
        return self._seen(offset, nbytes)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        flush = Operation("words.flush", self.span(offset, len(data)), _nothing)
        if len(data):
            self._buffer(flush, offset, bytes(data), releases=False)

    def fence(self) -> None:
        """Wait until all see what this task has stored; a step only if there is something that they do not see."""
        if self._buffering.has_stores():
            self.kernel.perform(Operation("words.fence", None, _nothing))

    def _seen(self, offset: int, nbytes: int) -> bytearray:
        return self._buffering.as_seen(self._address + offset, bytearray(self._bytes[offset : offset + nbytes]))

    def _buffer(self, flush: Operation, offset: int, data: bytes, *, releases: bool) -> None:
        subject = flush.subject
        assert isinstance(subject, Word | Span)
        target = self._bytes[offset : offset + len(data)]
        store = Store(flush, self._address + offset, target, data, releases=releases)
        self._buffering.buffer(store, subject.place)


class _Look(Reading):
    """A load, which orders nothing else."""

    __slots__ = ()

    @property
    def fences(self) -> bool:
        return False


def _nothing() -> None:
    return None
