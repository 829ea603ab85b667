"""Names that code under test took for itself, as by ``from time import sleep``: bound anew while a guard is open.

Looked through are the globals of each module that is neither Python's nor trusted; of those that are not installed,
but written here, also the classes, and the defaults and closures of functions; and those of the scenario. What objects
keep that were made before is not seen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

Undo = Callable[[], object]
Replacements = Mapping[int, Any]
"""By the id of the original."""

_WRAPPERS = (MethodType, staticmethod, classmethod, functools.partial)


def rebind(
    modules: Iterable[tuple[ModuleType, bool]], scenario: object, replacements: Replacements, undo: list[Undo]
) -> None:
    """Replace what modules and the scenario hold of the originals.

    Args:
        modules: with each, whether to look into its classes and functions, too.
        undo: gets what takes each replacement back.
    """
    binding = _Binding(replacements, undo)
    for module, deep in modules:
        binding.in_names(vars(module))
        if deep:
            binding.in_definitions(module)
    binding.in_function(scenario)


class _Binding:
    """One walk; there are thousands of names, and an exploration does not begin before all have been looked at."""

    def __init__(self, replacements: Replacements, undo: list[Undo]) -> None:
        self._replacements = replacements
        self._undo = undo
        self._seen: set[int] = set()

    def in_names(self, names: dict[str, Any]) -> None:
        replacements = self._replacements
        if replacements.keys().isdisjoint(map(id, names.values())):  # as most often
            return
        for name, original in list(names.items()):
            if id(original) in replacements:
                names[name] = replacements[id(original)]
                self._undo.append(functools.partial(names.__setitem__, name, original))

    def in_definitions(self, module: ModuleType) -> None:
        for value in list(vars(module).values()):
            if isinstance(value, FunctionType):
                if value.__module__ == module.__name__:
                    self.in_function(value)
            elif isinstance(value, type) and value.__module__ == module.__name__:
                self._in_class(value)

    def in_function(self, value: object) -> None:
        while isinstance(value, _WRAPPERS):
            value = value.func if isinstance(value, functools.partial) else value.__func__
        if not isinstance(value, FunctionType) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if defaults := value.__defaults__:
            self._in_defaults(value, defaults)
        if named := value.__kwdefaults__:
            self.in_names(named)
        for cell in value.__closure__ or ():
            self._in_cell(cell)

    def _in_class(self, kind: type) -> None:
        if id(kind) in self._seen:
            return
        self._seen.add(id(kind))
        replacements = self._replacements
        for name, value in list(vars(kind).items()):
            plain = value.__func__ if isinstance(value, staticmethod) else value
            if id(plain) in replacements:
                setattr(kind, name, staticmethod(replacements[id(plain)]))  # builtins are no methods, functions are
                self._undo.append(functools.partial(setattr, kind, name, value))
            else:
                self.in_function(value)

    def _in_defaults(self, function: FunctionType, defaults: tuple[Any, ...]) -> None:
        replacements = self._replacements
        if not replacements.keys().isdisjoint(map(id, defaults)):
            function.__defaults__ = tuple(replacements.get(id(default), default) for default in defaults)
            self._undo.append(functools.partial(setattr, function, "__defaults__", defaults))

    def _in_cell(self, cell: Any) -> None:
        try:
            content = cell.cell_contents
        except ValueError:  # not assigned yet
            return
        if id(content) in self._replacements:
            cell.cell_contents = self._replacements[id(content)]
            self._undo.append(functools.partial(setattr, cell, "cell_contents", content))
        else:
            self.in_function(content)
