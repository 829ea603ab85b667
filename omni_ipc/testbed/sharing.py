"""Looks for state that tasks share behind the runtime's back.

The reduction of the depth-first search leaves out schedules that only swap steps which do not conflict, and it knows of
conflicts on the runtime's objects and on watched ones alone. A plain list that two tasks append to is neither. So what
a new task can reach, by its closure, its arguments, `self` and the globals that it names, is looked through once; if
anything in it can change, and is neither controlled nor watched, the search must leave nothing out.

Code that is instrumented needs no look: it tells each access itself.

Not seen: state in the attributes of classes, what tasks hand each other later, through a queue, and the inside of what
a watched field holds, if it is used under another name.
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import functools
from collections.abc import Callable, Collection, Iterator
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import msgspec

from omni_ipc.testbed.objects.base import Controlled

_NO_STATE = (type, ModuleType, FunctionType, MethodType, functools.partial, enum.Enum, BaseException, Controlled)
_VALUES = (int, float, complex, str, bytes, tuple, frozenset, type(None))
_NO_STATE_ROOMS = ("omni_ipc.testbed", "logging")  # what they keep is none of the scenario's
_MOST_TOLD = 3


class Sharing:
    """What the tasks of a scenario were found to share.

    Args:
        scenario: its own rebinding of a variable counts, too.
        sees: tells whether the use of an object of a type is seen, because its class is instrumented.
    """

    def __init__(self, scenario: Callable[..., object], sees: Callable[[type], bool] = lambda _: False) -> None:
        self._sees = sees
        self._outer = getattr(scenario, "__code__", None)
        self._seen: set[CodeType] = set()
        self._found: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def __str__(self) -> str:
        told = list(self._found)[:_MOST_TOLD]
        return ", ".join(told) + (" and more" if len(self._found) > _MOST_TOLD else "")

    def look(self, fn: Callable[..., object], args: tuple[object, ...], watched: Collection[object]) -> None:
        """Look through what a new task can reach.

        Args:
            watched: objects that need no look, because their use is seen.
        """
        code = _code(fn)
        if code is None or code not in self._seen:
            self._seen |= {code} if code is not None else set()
            search = _Search({id(target) for target in watched}, self._outer, self._sees)
            self._found.update(dict.fromkeys(search.run([("its function", fn), *(("an argument", a) for a in args)])))


class _Search:
    """One walk over what can be reached."""

    def __init__(self, visited: set[int], outer: CodeType | None, sees: Callable[[type], bool]) -> None:
        self._sees = sees
        self._visited = visited
        self._outer = outer

    def run(self, roots: list[tuple[str, object]]) -> Iterator[str]:
        todo = roots
        while todo:
            name, value = todo.pop()
            if id(value) in self._visited:
                continue
            self._visited.add(id(value))
            if self._sees(type(value)):
                continue
            if can_change(value):
                yield f"{name} ({_kind(value)})"
                continue
            if isinstance(value, FunctionType):
                yield from self._rebound(value)
            todo += _parts(name, value)

    def _rebound(self, function: FunctionType) -> Iterator[str]:
        """Variables of an enclosing function, and globals, that are assigned to while tasks live."""
        stored = _stores(function.__code__)
        outer = _stores(self._outer) if self._outer is not None else []
        for name in function.__code__.co_freevars:
            if ("DEREF", name) in stored or outer.count(("DEREF", name)) > 1:
                yield f"the variable '{name}'"
        for scope, name in stored:
            if scope == "GLOBAL":
                yield f"the global '{name}'"


def _parts(name: str, value: object) -> Iterator[tuple[str, object]]:
    """What a value leads to."""
    match value:
        case FunctionType():
            for variable, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
                yield from _content(variable, cell)
            for default in value.__defaults__ or ():
                yield "a default", default
            for used in _names(value.__code__):
                if _is_of(value, found := value.__globals__.get(used)):
                    yield f"the global '{used}'", found
        case MethodType():
            yield "self", value.__self__
            yield name, value.__func__
        case BuiltinMethodType():  # as a list's append
            yield "self", value.__self__
        case functools.partial():
            yield name, value.func
            yield from (("an argument", argument) for argument in (*value.args, *value.keywords.values()))
        case tuple() | frozenset():
            yield from ((name, item) for item in value)


def _is_of(function: FunctionType, value: object) -> bool:
    """Tell whether a global is worth a look: data, or a function of the same module; other modules' code is theirs."""
    return not isinstance(value, FunctionType) or value.__globals__ is function.__globals__


def _content(variable: str, cell: CellType) -> Iterator[tuple[str, object]]:
    try:
        yield f"'{variable}'", cell.cell_contents
    except ValueError:  # not assigned yet
        return


def can_change(value: object) -> bool:
    """Tell whether a value is state: a container, an iterator, or an object of a Python class that is not frozen."""
    kind: Any = type(value)
    if isinstance(value, (*_NO_STATE, *_VALUES)) or kind.__module__.startswith(_NO_STATE_ROOMS):
        return False
    if dataclasses.is_dataclass(value) and kind.__dataclass_params__.frozen:
        return False
    if isinstance(value, msgspec.Struct) and kind.__struct_config__.frozen:
        return False
    has_members = hasattr(value, "__dict__") or any("__slots__" in vars(base) for base in kind.__mro__)
    return has_members or any(hasattr(kind, change) for change in ("__setitem__", "__next__", "add"))


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


def _code(fn: object) -> CodeType | None:
    while isinstance(fn, (MethodType, functools.partial)):
        fn = fn.__func__ if isinstance(fn, MethodType) else fn.func
    return fn.__code__ if isinstance(fn, FunctionType) else None


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _names(code: CodeType) -> set[str]:
    return {name for nested in _nested(code) for name in nested.co_names}


def _stores(code: CodeType) -> list[tuple[str, str]]:
    """List assignments to what other functions see: ("DEREF" | "GLOBAL", name), one an instruction."""
    return [
        (step.opname.partition("_")[2], step.argval)
        for nested in _nested(code)
        for step in dis.get_instructions(nested)
        if step.opname in ("STORE_DEREF", "DELETE_DEREF", "STORE_GLOBAL", "DELETE_GLOBAL")
    ]
