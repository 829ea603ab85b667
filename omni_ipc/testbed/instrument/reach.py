"""What can be reached from modules under test: functions, and everything that keeps state from run to run."""

from __future__ import annotations

import functools
import logging
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import CellType, FunctionType, ModuleType
from typing import Any

from omni_ipc.testbed.instrument.kinds import container
from omni_ipc.testbed.instrument.slots import Slots
from omni_ipc.testbed.instrument.standins import is_primitive

_WRAPPERS = (staticmethod, classmethod, types.MethodType)


class Reach:
    """One walk.

    Args:
        owns: tells whether a module is under test, by its name; objects of other modules' classes are not looked into.

    Attributes:
        functions: of modules under test, wherever they are.
        holders: containers, dictionaries of modules and objects, classes and cells, with a path to each.
        owners: modules, and objects with attributes.
        caches: functions with a `functools` cache.
    """

    def __init__(self, owns: Callable[[str], bool]) -> None:
        self._owns = owns
        self._seen: dict[int, object] = {}
        self.functions: list[FunctionType] = []
        self.holders: list[tuple[str, Any]] = []
        self.owners: list[Any] = []
        self.caches: list[Any] = []

    def walk(self, roots: Iterable[tuple[str, object]]) -> Reach:
        """Go wherever the roots lead."""
        todo = list(roots)
        while todo:
            path, value = todo.pop()
            if id(value) not in self._seen:
                self._seen[id(value)] = value
                todo += self._parts(path, value)
        return self

    def _parts(self, path: str, value: Any) -> Iterator[tuple[str, object]]:
        match value:
            case ModuleType():
                if self._owns(value.__name__):
                    self.holders.append((path, vars(value)))
                    self.owners.append(value)
                    yield from _items(path, vars(value))
            case FunctionType():
                if self._owns(value.__module__ or ""):
                    self.functions.append(value)
                yield from self._function(path, value)
            case type():
                if self._owns(value.__module__):
                    self.holders.append((path, value))
                    yield from _items(path, vars(value))
            case property():
                yield from ((path, part) for part in (value.fget, value.fset, value.fdel))
            case functools.cached_property() | functools.partialmethod() | functools.singledispatchmethod():
                self.holders.append((path, vars(value)))  # before Python 3.12 the first has a lock of its own
                yield from _items(path, vars(value))
            case functools.partial():
                yield from ((path, part) for part in (value.func, *value.args, *value.keywords.values()))
            case staticmethod() | classmethod() | types.MethodType():
                yield path, value.__func__
                yield path, getattr(value, "__self__", None)
            case tuple() | frozenset():
                yield from ((f"{path}[{place}]", item) for place, item in enumerate(value))
            case CellType():
                self.holders.append((path, value))
                yield from _content(path, value)
            case _:
                yield from self._object(path, value)

    def _function(self, path: str, function: FunctionType) -> Iterator[tuple[str, object]]:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield f"{path}.{name}", cell
        yield from ((path, default) for default in function.__defaults__ or ())
        yield from ((path, default) for default in (function.__kwdefaults__ or {}).values())
        if vars(function):
            self.holders.append((path, vars(function)))
            yield from _items(path, vars(function))

    def _object(self, path: str, value: Any) -> Iterator[tuple[str, object]]:
        kind = type(value)
        if is_primitive(value):
            return
        if hasattr(kind, "cache_clear") and hasattr(value, "__wrapped__"):  # an instance may refuse to be asked
            self.caches.append(value)
            yield path, value.__wrapped__
        if (base := container(kind)) is not None:
            self.holders.append((path, value))
            if base is dict:
                yield from _items(path, value)
            elif base in (list, set, deque):
                yield from ((f"{path}[{place}]", item) for place, item in enumerate(value))
        if self._owns(kind.__module__) or (isinstance(value, logging.Handler) and self._hands_on(value)):
            attributes = getattr(value, "__dict__", None)
            if attributes is not None:
                self.holders.append((path, attributes))
                self.owners.append(value)
                yield from _items(path, attributes)
            slots = Slots(value)
            if slots.names:
                self.holders.append((path, slots))
                yield from slots.items(path)

    def _hands_on(self, handler: logging.Handler) -> bool:
        """Tell whether a handler calls code under test, so that it matters who has its lock."""
        return any(self._owns(type(part).__module__) for part in vars(handler).values())


def _items(path: str, names: Any) -> Iterator[tuple[str, object]]:
    for name, value in list(names.items()):
        if name != "__builtins__":
            yield (f"{path}.{name}" if isinstance(name, str) else f"{path}[...]"), value


def _content(path: str, cell: CellType) -> Iterator[tuple[str, object]]:
    try:
        yield path, cell.cell_contents
    except ValueError:  # not assigned yet
        return
