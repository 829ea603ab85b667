"""Shared 8-byte words under control: each access is a step, and each word is a conflict of its own.

Two views of the same memory see the same words; who sleeps on a word is woken through either. A bulk access is one
access to all words that it touches.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from omni_ipc.errors import UsageError
from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.objects.memory import Memories, address
from omni_ipc.testbed.objects.sleeper import Sleeper
from omni_ipc.testbed.operations import Operation, Reading, always, nothing
from omni_ipc.testbed.tasks import Task

WORD_BYTES = 8


class ControlledWords(Controlled):
    """A view of a writable buffer as words, where every store is seen at once, by all."""

    kind = "words"

    def __init__(self, kernel: Kernel, memories: Memories, buffer: memoryview) -> None:
        super().__init__(kernel)
        if buffer.readonly or not buffer.c_contiguous or buffer.nbytes % WORD_BYTES or not buffer.nbytes:
            raise UsageError(
                f"Words need a writable, contiguous buffer of a multiple of {WORD_BYTES} bytes; this one has "
                f"{buffer.nbytes} bytes, read-only: {buffer.readonly}, contiguous: {buffer.c_contiguous}."
            )
        if address(buffer) % WORD_BYTES:
            raise UsageError(
                f"Words need a buffer aligned to {WORD_BYTES} bytes. Slice it at a multiple of {WORD_BYTES}."
            )
        self._bytes = buffer.cast("B")
        self._view = self._bytes.cast("Q")
        self._memories = memories
        self._memory, self._start = memories.place(kernel, buffer)
        self._words: dict[int, Word] = {}

    def load(self, index: int) -> int:
        return int(self.kernel.perform(Reading("words.load", self.word(index), lambda: self._view[index])))

    def peek(self, index: int) -> int:
        """Return what memory holds, without a point."""
        return self._view[index]

    def store(self, index: int, value: int) -> None:
        def store() -> None:
            self._view[index] = value

        self.kernel.perform(Operation("words.store", self.word(index), store, extra={"value": value}))

    def read(self, offset: int, nbytes: int) -> bytearray:
        span = self.span(offset, nbytes)
        if span.bit and not self.kernel.current.atomic:
            self.kernel.perform(Reading("words.read", span, nothing))
        else:
            self.kernel.reads |= span.bit
        return bytearray(self._bytes[offset : offset + nbytes])

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        span = self.span(offset, len(data))
        if span.bit and not self.kernel.current.atomic:
            self.kernel.perform(_Bulk(span, self._bytes[offset : offset + len(data)], data))
        else:
            self.kernel.writes |= span.bit
        self._bytes[offset : offset + len(data)] = data

    def fence(self) -> None:
        """Do nothing: all is in order here."""

    def wait(self, index: int, value: int, timeout: float) -> bool:
        word = self.word(index)
        sleeper = self.kernel.perform(_on_list("words.wait", word, lambda: self._sleep(word, value)))
        if sleeper is None:
            return True
        wake = _Woken("words.woken", word, sleeper.is_woken, sleeper.is_woken, lambda: self._give_up(word, sleeper))
        wake.writes = word.list_bit
        wake.sleeper, wake.others = sleeper, self._memories.sleepers[word.place]
        return bool(self.kernel.perform_within(wake, None if timeout == math.inf else timeout))

    def wake(self, index: int) -> None:
        word = self.word(index)
        self.kernel.perform(_on_list("words.wake", word, lambda: self._wake(word)))

    def word(self, index: int) -> Word:
        """Return a word as the subject of operations."""
        if index not in self._words:
            size = len(self._view)
            if not 0 <= index < size:
                raise IndexError(f"there is no word {index} in a buffer of {size} words")
            self._words[index] = Word(self, index, (self._memory, self._start + index * WORD_BYTES))
        return self._words[index]

    def span(self, offset: int, nbytes: int) -> Span:
        """Return some bytes as the subject of operations."""
        size = self._bytes.nbytes
        if not 0 <= offset <= offset + nbytes <= size:
            raise IndexError(f"there are no {nbytes} bytes at {offset} in a buffer of {size} bytes")
        return Span(self, offset, nbytes, self._memory, self._start)

    def _sleep(self, word: Word, value: int) -> Sleeper | None:
        self.kernel.reads |= word.bit
        if self._view[word.index] != value:
            return None
        sleeper = Sleeper()
        self._memories.sleepers.setdefault(word.place, []).append(sleeper)
        return sleeper

    def _wake(self, word: Word) -> None:
        for sleeper in self._memories.sleepers.pop(word.place, ()):
            sleeper.woken = True

    def _give_up(self, word: Word, sleeper: Sleeper) -> bool:
        self.kernel.writes |= word.list_bit
        self._memories.sleepers[word.place].remove(sleeper)
        return False


class Word:
    """One word of a view; its bits are those of the memory behind it, and of the list of those who sleep on it."""

    __slots__ = ("bit", "index", "list_bit", "name", "place", "words")

    def __init__(self, words: ControlledWords, index: int, place: tuple[object, int]) -> None:
        self.name = words.name
        self.words = words
        self.index = index
        self.place = place
        self.bit = words.kernel.identities["word", place]
        self.list_bit = words.kernel.identities["sleepers", place]
        words.kernel.plumbing |= self.list_bit

    def label(self) -> dict[str, Field]:
        return {"words": self.name, "index": self.index}

    def shown(self) -> str:
        return str(self.words.peek(self.index))

    def blocked_on(self) -> str:
        return f"a wake of word {self.index} of {self.name}"

    def holder(self) -> Task | None:
        return None


class Span:
    """Some bytes of a view; its bits are those of all words that they touch."""

    __slots__ = ("bit", "nbytes", "offset", "place", "words")

    def __init__(self, words: ControlledWords, offset: int, nbytes: int, memory: object, start: int) -> None:
        self.words = words
        self.offset = offset
        self.nbytes = nbytes
        self.place = (memory, start + offset)
        spans = words.kernel.identities.spans
        key = (self.place, nbytes)
        if key not in spans:
            first, end = offset // WORD_BYTES * WORD_BYTES, offset + nbytes if nbytes else 0
            bits = (words.kernel.identities["word", (memory, start + at)] for at in range(first, end, WORD_BYTES))
            spans[key] = functools.reduce(operator.or_, bits, 0)
        self.bit = spans[key]

    def label(self) -> dict[str, Field]:
        return {"words": self.words.name, "offset": self.offset, "bytes": self.nbytes}

    def blocked_on(self) -> str:
        return self.words.name

    def holder(self) -> Task | None:
        return None


class _Woken(Operation):
    """The end of a sleep, which a fault may bring about: who sleeps on a word may return early."""

    __slots__ = ("others", "sleeper")

    sleeper: Sleeper
    others: list[Sleeper]

    def asleep(self) -> bool:
        return not self.sleeper.woken

    def rouse(self) -> None:
        self.sleeper.woken = True
        self.others.remove(self.sleeper)


class _Bulk(Operation):
    """A write of many bytes, in the middle of which its task may be killed.

    Args:
        target: the bytes to change.
        data: what to write there.
    """

    __slots__ = ("_data", "_target")

    def __init__(self, span: Span, target: memoryview, data: bytes | bytearray | memoryview) -> None:
        super().__init__("words.write", span, nothing)
        self._target = target
        self._data = data

    def tear(self) -> None:
        """Write the first half."""
        half = len(self._data) // 2
        self._target[:half] = self._data[:half]


def _on_list(
    action: str,
    word: Word,
    execute: Callable[[], Any],
    enabled: Callable[[], bool] = always,
    expire: Callable[[], Any] = bool,
) -> Operation:
    """Make an operation on the list of those who sleep on a word."""
    operation = Operation(action, word, execute, enabled, expire)
    operation.writes = word.list_bit
    return operation
