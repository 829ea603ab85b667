"""Types of objects: which are values, which hold others, and the code that their objects work by."""

from __future__ import annotations

import contextvars
import datetime
import decimal
import enum
import functools
import pathlib
import re
import threading
import types
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from omni_ipc.testbed.instrument.behind import WINDOWS
from omni_ipc.testbed.instrument.tables import STATELESS, TABLES
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.where import is_stdlib

VALUES = (
    *(int, float, complex, str, bytes, tuple, frozenset, type(None), range, slice, memoryview, type(...), enum.Enum),
    *(re.Pattern, re.Match, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta, pathlib.PurePath),
    *(types.CodeType, types.FrameType, types.TracebackType, threading.local, contextvars.ContextVar, Controlled),
)
"""Types whose objects do not change, or tell of it themselves."""

_PASSING_ON = ("collections.abc", "omni_ipc")
_MISSING = vars(defaultdict)["__missing__"]
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, or as if it were


def container(kind: type) -> type | None:
    """Return the builtin container that a type is, or derives from."""
    return next((base for base in kind.__mro__ if base in TABLES), None)


def has_content(kind: type) -> bool:
    """Tell whether a type is one of containers or iterators, whose methods use what is in them."""
    return container(kind) is not None or step_of(kind) is not None


def step_of(kind: type) -> str | None:
    """Name the method by which iterators of a type take a step, or coroutines run; None if it is none of them."""
    if kind is types.CoroutineType:
        return "send"
    return next((name for name in ("__next__", "__anext__") if hasattr(kind, name)), None)


class Told(enum.IntEnum):
    """Where the use of an object's items is told."""

    HERE = 0
    """At the site of the use."""
    BEHIND = 1
    """Of what the object shows: it is a view, an iterator, or works by code without points."""
    INSIDE = 2
    """By its own code, which has points, if at all: what does not change has nothing to tell."""
    MADE = 3
    """At the site of the use, and once more when an item that was missing has been made."""


BEHIND, MADE = Told.BEHIND, Told.MADE  # by themselves, as they are asked for at each use


class ItemsTold(dict[type, Told]):
    """Finds by type where the use of items is told.

    Args:
        knows: as of `Effects`.
        acts_itself: tells whether all that uses items of objects of a type is code with points.
    """

    def __init__(self, knows: Callable[[Any], bool], acts_itself: Callable[[type], bool]) -> None:
        super().__init__()
        self._knows = knows
        self._acts_itself = acts_itself

    def __missing__(self, kind: type) -> Told:
        found = self[kind] = self._find(kind)
        return found

    def _find(self, kind: type) -> Told:
        if kind in WINDOWS:
            return Told.BEHIND
        if issubclass(kind, VALUES):
            return Told.INSIDE
        if any(map(self._wraps, kind.__mro__)):
            return Told.BEHIND
        if self._acts_itself(kind):
            return Told.INSIDE
        return Told.MADE if look_up(kind, "__missing__") is _MISSING else Told.HERE

    def _wraps(self, base: type) -> bool:
        is_python = bool(base.__flags__ & _HEAP_TYPE) and base.__dictoffset__ != 0
        return is_python and not self._knows(base) and not is_of(base.__module__, (*STATELESS, *_PASSING_ON))


@functools.cache
def is_of(module: str, rooms: tuple[str, ...]) -> bool:
    """Tell whether a module is one of some, or in one."""
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def bare(found: Any) -> Any:
    """Return the function behind what a class has, and behind wrappers of the standard library around it."""
    function: Any = getattr(found, "fget", found)
    while isinstance(function, (staticmethod, classmethod, types.MethodType, functools.partial)):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    while isinstance(function, types.FunctionType) and is_stdlib(function.__code__.co_filename):
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    return function


def runs_python(factory: Any) -> bool:
    """Tell whether others may run while something is made; C code makes it at once."""
    while isinstance(factory, functools.partial):
        factory = factory.func
    if isinstance(factory, type):
        return any(isinstance(bare(look_up(factory, name)), types.FunctionType) for name in ("__new__", "__init__"))
    return factory is not None and not isinstance(factory, types.BuiltinFunctionType)


def look_up(kind: type, name: str) -> Any:
    """Return what a class has under a name, without calling it."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None
