"""What lies behind an object that is handed to code without points: all that this code can get at through it.

A view or an iterator shows containers; a container that is printed, compared or copied is read with all that is in it.
"""

from __future__ import annotations

import array
import gc
import itertools
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

from omni_ipc.testbed.instrument.callables import is_blind
from omni_ipc.testbed.instrument.slots import Slots
from omni_ipc.testbed.instrument.tables import TABLES

_LISTS: tuple[Any, ...] = ([], {}, set(), (), "", b"", range(0), bytearray(), deque(), array.array("i"))
_DICT: dict[str, str] = {}
VIEWS: frozenset[type] = frozenset(map(type, (_DICT.keys(), _DICT.values(), _DICT.items()))) | {types.MappingProxyType}
ITERATORS: frozenset[type] = frozenset(
    [type(iter(some)) for some in _LISTS]
    + [type(reversed(some)) for some in ([*_DICT], _DICT, deque[str](), _DICT.values(), _DICT.items())]
    + [type(iter(some)) for some in (_DICT.values(), _DICT.items())]
    + [enumerate, zip, map, filter, reversed, itertools.chain, itertools.islice, itertools.cycle, itertools.starmap]
    + [itertools.accumulate, itertools.takewhile, itertools.dropwhile, itertools.filterfalse, itertools.zip_longest]
)
FLAT: frozenset[type] = frozenset(
    {int, float, complex, str, bytes, bool, type(None), range, slice, type(...), type(NotImplemented)}
    | {types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.CodeType, type}
)
"""Types of objects behind which there is nothing."""

_SEEN_THROUGH = VIEWS | ITERATORS | {memoryview}
WINDOWS = _SEEN_THROUGH | {types.GeneratorType, types.AsyncGeneratorType, types.CoroutineType}
"""Types of views and iterators, which show others; and of coroutines."""


def shown_by(value: Any) -> list[Any]:
    """Give what a view or an iterator shows: containers, and generators; nothing, if it is none."""
    return [part for part in _referents(value) if type(part) not in FLAT]


def called_by(value: Any) -> list[Any]:
    """Give the functions of C that an iterator calls at each step, as in ``map(attrgetter("x"), objects)``."""
    return [part for part in _referents(value) if is_blind(part)]


def _referents(window: Any) -> list[Any]:
    found: list[Any] = []
    todo = [window] if type(window) in _SEEN_THROUGH else []
    while todo:
        window = todo.pop()
        for part in [window.obj] if type(window) is memoryview else gc.get_referents(window):
            if type(part) is tuple or type(part) in _SEEN_THROUGH:  # `zip` keeps its iterators in a tuple
                todo.append(part)
            else:
                found.append(part)
    return found


def wrapped_by(value: Any) -> list[Any]:
    """Give the containers that an object keeps to itself, as a `collections.ChainMap` does, with what is in them."""
    kept = [held for held in getattr(value, "__dict__", {}).values() if isinstance(held, tuple(TABLES))]
    return [part for held in kept for part in all_behind(held)]


def all_behind(value: Any, *, objects: bool = False) -> list[Any]:
    """Give a value and what it contains, at any depth, as far as that may change.

    Args:
        objects: attributes of any object count as its content; else those of a data class, which are printed and
            compared by code that is made for it.
    """
    found: list[Any] = []
    seen: set[int] = set()
    todo = [value]
    while todo:
        value = todo.pop()
        if type(value) in FLAT or id(value) in seen:
            continue
        seen.add(id(value))
        if not isinstance(value, (tuple, frozenset)):
            found.append(value)
        todo += _inside(value, objects=objects)
    return found


def _inside(value: Any, *, objects: bool) -> list[Any]:
    for base in (*TABLES, tuple, frozenset):
        if isinstance(value, base):
            return [] if base is bytearray else [*_items(base, value)]
    if type(value) in WINDOWS:
        return shown_by(value)
    kind = type(value)
    if objects or hasattr(kind, "__dataclass_fields__") or kind is types.SimpleNamespace:
        return [*getattr(value, "__dict__", {}).values(), *Slots(value).read()]
    return []


def _items(base: Any, value: Any) -> Iterator[Any]:
    if base is dict:
        yield from dict.keys(value)
        yield from dict.values(value)
    else:
        yield from base.__iter__(value)
