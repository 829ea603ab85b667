"""Which generator, or coroutine, a frame is a run of: known once somebody lets it run, and until it has ended."""

from __future__ import annotations

import itertools
import weakref
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any

_PREFIXES: dict[type, str] = {GeneratorType: "gi", AsyncGeneratorType: "ag", CoroutineType: "cr"}
RUN = "coroutine "
"""Names of coroutines begin with it."""

_Met = tuple[weakref.ref[Any], int, str]
"""One of them; the index of the task that met it first, and the module of its function."""


class Generators:
    """The generators and coroutines of a run; none is kept alive, as the end of one's life is an event."""

    def __init__(self) -> None:
        self._by_frame: dict[int, weakref.ref[Any]] = {}
        self._met: dict[int, _Met] = {}  # by id
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._number = itertools.count(1)

    def meet(self, value: object, user: int) -> tuple[CodeType, str] | None:
        """Take note of a value, if it is one of them; return its code and its module, if another task has met it, too.

        Args:
            user: the task's index.
        """
        if type(value) not in _PREFIXES:
            return None
        met = self._met.get(id(value))
        if met is None or met[0]() is not value:
            met = self._met[id(value)] = self._take_note(value, user)
        _, first, module = met
        return None if first == user else (code_of(value), module)

    def _take_note(self, value: Any, user: int) -> _Met:
        itself, frame = weakref.ref(value), _frame_of(value)
        if frame is None:
            return itself, user, ""
        self._by_frame[id(frame)] = itself
        return itself, user, frame.f_globals.get("__name__", "")

    def key_of(self, value: object) -> int:
        """Tell an object that is not kept alive from others; the address of a generator may soon be another one's."""
        if type(value) not in _PREFIXES:
            return id(value)
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = -next(self._number)
        return found

    def of(self, frame: FrameType) -> object:
        """Return what a frame is a run of, or the frame, if that has not been met."""
        found = self._by_frame.get(id(frame))
        generator = None if found is None else found()
        return frame if generator is None or _frame_of(generator) is not frame else generator


def code_of(value: object) -> CodeType:
    """Return the code that one of them runs."""
    code: CodeType = getattr(value, f"{_PREFIXES[type(value)]}_code")
    return code


def run_name(code: CodeType) -> str:
    """Name the coroutines that run a code."""
    return f"{RUN}{code.co_qualname}"


def _frame_of(value: object) -> FrameType | None:
    frame: FrameType | None = getattr(value, f"{_PREFIXES[type(value)]}_frame")
    return frame
