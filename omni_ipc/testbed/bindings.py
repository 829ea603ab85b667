"""Names that code under test took for itself, as by ``from time import sleep``: bound anew while a guard is open.

Looked through are the globals of each module that is neither Python's nor trusted; of those that are not installed,
but written here, also the classes, and the defaults and closures of functions; and those of the scenario. What objects
keep that were made before is not seen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

Undo = Callable[[], object]
Replacements = Mapping[int, Any]
"""By the id of the original."""


def rebind(modules: Iterable[tuple[ModuleType, bool]], scenario: object, replacements: Replacements) -> Iterator[Undo]:
    """Replace what modules and the scenario hold of the originals; each item that is given takes one back.

    Args:
        modules: with each, whether to look into its classes and functions, too.
    """
    seen: set[int] = set()
    for module, deep in modules:
        yield from _in_names(vars(module), replacements)
        if deep:
            yield from _in_definitions(module, replacements, seen)
    yield from _in_function(scenario, replacements, seen)


def _in_names(names: dict[str, Any], replacements: Replacements) -> Iterator[Undo]:
    held = [name for name, value in names.items() if id(value) in replacements]
    for name in held:
        original = names[name]
        names[name] = replacements[id(original)]
        yield functools.partial(names.__setitem__, name, original)


def _in_definitions(module: ModuleType, replacements: Replacements, seen: set[int]) -> Iterator[Undo]:
    for value in list(vars(module).values()):
        if isinstance(value, FunctionType):
            if value.__module__ == module.__name__:
                yield from _in_function(value, replacements, seen)
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield from _in_class(value, replacements, seen)


def _in_class(kind: type, replacements: Replacements, seen: set[int]) -> Iterator[Undo]:
    if id(kind) in seen:
        return
    seen.add(id(kind))
    for name, value in list(vars(kind).items()):
        plain = value.__func__ if isinstance(value, staticmethod) else value
        if id(plain) in replacements:
            setattr(kind, name, staticmethod(replacements[id(plain)]))  # builtins are no methods, functions are
            yield functools.partial(setattr, kind, name, value)
        else:
            yield from _in_function(value, replacements, seen)


def _in_function(value: object, replacements: Replacements, seen: set[int]) -> Iterator[Undo]:
    while isinstance(value, (MethodType, staticmethod, classmethod, functools.partial)):
        value = value.func if isinstance(value, functools.partial) else value.__func__
    if not isinstance(value, FunctionType) or id(value) in seen:
        return
    seen.add(id(value))
    defaults = value.__defaults__ or ()
    if any(id(default) in replacements for default in defaults):
        value.__defaults__ = tuple(replacements.get(id(default), default) for default in defaults)
        yield functools.partial(setattr, value, "__defaults__", defaults)
    yield from _in_names(value.__kwdefaults__ or {}, replacements)
    for cell in value.__closure__ or ():
        yield from _in_cell(cell, replacements, seen)


def _in_cell(cell: CellType, replacements: Replacements, seen: set[int]) -> Iterator[Undo]:
    try:
        content = cell.cell_contents
    except ValueError:  # not assigned yet
        return
    if id(content) in replacements:
        cell.cell_contents = replacements[id(content)]
        yield functools.partial(setattr, cell, "cell_contents", content)
    else:
        yield from _in_function(content, replacements, seen)
