"""Which generator a frame is a run of: known once somebody asks it for a step, and until it has ended."""

from __future__ import annotations

import weakref
from types import FrameType, GeneratorType
from typing import Any


class Generators:
    """The generators of a run; none is kept alive, as the end of one's life is an event."""

    def __init__(self) -> None:
        self._by_frame: dict[int, weakref.ref[GeneratorType[Any, Any, Any]]] = {}

    def meet(self, value: object) -> None:
        """Take note of a value, if it is a generator that may run."""
        if type(value) is GeneratorType and value.gi_frame is not None:
            self._by_frame[id(value.gi_frame)] = weakref.ref(value)

    def of(self, frame: FrameType) -> object:
        """Return the generator of a frame, or the frame, if it has not been met."""
        found = self._by_frame.get(id(frame))
        generator = None if found is None else found()
        return frame if generator is None or generator.gi_frame is not frame else generator
