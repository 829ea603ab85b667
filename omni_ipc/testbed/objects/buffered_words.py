"""Shared words where stores are buffered: a store is one step, its arrival in memory another; see `buffering`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from omni_ipc.records import Field
from omni_ipc.testbed.buffering import BufferingKernel, Store
from omni_ipc.testbed.objects.memory import Memories, address
from omni_ipc.testbed.objects.words import WORD_BYTES, ControlledWords, Span, Word
from omni_ipc.testbed.operations import Operation, Reading, nothing


class BufferedWords(ControlledWords):
    """A view of a writable buffer as words."""

    def __init__(self, kernel: BufferingKernel, memories: Memories, buffer: memoryview) -> None:
        super().__init__(kernel, memories, buffer)
        self._buffering = kernel
        self._address = address(buffer)

    def load(self, index: int) -> int:
        self.kernel.perform(_Look("words.load", self.word(index), nothing))
        return int.from_bytes(self._seen(index * WORD_BYTES, WORD_BYTES), sys.byteorder)

    def store(self, index: int, value: int) -> None:
        word, extra = self.word(index), {"value": value}
        self.kernel.perform(_Issue("words.store", word, extra))
        data = value.to_bytes(WORD_BYTES, sys.byteorder)
        self._buffer(word, index * WORD_BYTES, data, extra, releases=True)

    def read(self, offset: int, nbytes: int) -> bytearray:
        if nbytes:
            self.kernel.perform(_Look("words.read", self.span(offset, nbytes), nothing))
        return self._seen(offset, nbytes)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        span = self.span(offset, len(data))
        if span.bit:
            self.kernel.perform(_Issue("words.write", span))
            self._buffer(span, offset, bytes(data))

    def fence(self) -> None:
        """Wait until all see what this task has stored; a step only if there is something that they do not see."""
        if self._buffering.has_stores():
            self.kernel.perform(Operation("words.fence", None, nothing))

    def _seen(self, offset: int, nbytes: int) -> bytearray:
        return self._buffering.as_seen(self._address + offset, bytearray(self._bytes[offset : offset + nbytes]))

    def _buffer(
        self,
        subject: Word | Span,
        offset: int,
        data: bytes,
        extra: Mapping[str, Field] | None = None,
        *,
        releases: bool = False,
    ) -> None:
        flush = _Arrival("words.flush", subject, nothing, extra=extra)
        target = self._bytes[offset : offset + len(data)]
        store = Store(flush, self._address + offset, target, data, releases=releases)
        self._buffering.buffer(store, subject.place)


class _Arrival(Operation):
    """That a store reaches memory."""

    __slots__ = ()

    def blocked_on(self) -> str:
        return "what was stored before it"


class _Look(Reading):
    """A load, which orders nothing else."""

    __slots__ = ()

    @property
    def fences(self) -> bool:
        return False


class _Issue(Operation):
    """Putting a store into the buffer, where nobody else sees it."""

    __slots__ = ()

    def __init__(self, action: str, subject: Word | Span, extra: Mapping[str, Field] | None = None) -> None:
        super().__init__(action, subject, nothing, extra=extra)
        self.writes = 0

    @property
    def fences(self) -> bool:
        return False
