"""Which generator a frame is a run of: known once somebody asks it for a step, and until it has ended."""

from __future__ import annotations

import itertools
import weakref
from types import AsyncGeneratorType, FrameType, GeneratorType
from typing import Any


class Generators:
    """The generators of a run, asynchronous ones too; none is kept alive, as the end of one's life is an event."""

    def __init__(self) -> None:
        self._by_frame: dict[int, tuple[weakref.ref[Any], int]] = {}  # with the task that met it first
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._number = itertools.count(1)

    def meet(self, value: object, user: int) -> FrameType | None:
        """Take note of a value, if it is a generator that may run; return its frame, if another task has met it, too.

        Args:
            user: the task's index.
        """
        if not isinstance(value, (GeneratorType, AsyncGeneratorType)) or (frame := _frame_of(value)) is None:
            return None
        if self.of(frame) is not value:
            self._by_frame[id(frame)] = weakref.ref(value), user
        return frame if self._by_frame[id(frame)][1] != user else None

    def key_of(self, value: object) -> int:
        """Tell an object that is not kept alive from others; the address of a generator may soon be another one's."""
        if not isinstance(value, (GeneratorType, AsyncGeneratorType)):
            return id(value)
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = -next(self._number)
        return found

    def of(self, frame: FrameType) -> object:
        """Return the generator of a frame, or the frame, if it has not been met."""
        found = self._by_frame.get(id(frame))
        generator = None if found is None else found[0]()
        return frame if generator is None or _frame_of(generator) is not frame else generator


def _frame_of(generator: Any) -> FrameType | None:
    frame: FrameType | None = generator.gi_frame if type(generator) is GeneratorType else generator.ag_frame
    return frame
