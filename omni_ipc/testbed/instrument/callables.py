"""Functions of C that C code calls: what they do to what they are given is a part of the step that hands them over."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from operator import attrgetter, itemgetter, methodcaller
from types import BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType
from typing import Any

from omni_ipc.testbed.instrument.rewriting.nodes import GROWS
from omni_ipc.testbed.instrument.tables import BY_NAME, READERS, TABLES

_GETTERS = (attrgetter, itemgetter)
_DESCRIPTORS = (MethodDescriptorType, WrapperDescriptorType)
_FUNCTIONS = (BuiltinFunctionType, MethodWrapperType)
_KINDS = (*_GETTERS, methodcaller, *_DESCRIPTORS, *_FUNCTIONS)
_LOOKING = frozenset({str, repr, list, tuple, set, frozenset, dict, bool, bytes, bytearray, sum, sorted})
_WRITING = frozenset(name for table in TABLES.values() for name, effect in table.items() if effect.writes)
_OPERATORS = ("_operator", "operator", "math", "_functools")
_CHANGING = frozenset({"setitem", "delitem", "iconcat", *GROWS})


def is_blind(value: object) -> bool:
    """Tell whether a value is a function of C that looks into what it is given, or a builtin class that does."""
    while isinstance(value, functools.partial):
        value = value.func
    return isinstance(value, _KINDS) or (isinstance(value, type) and value in _LOOKING)


def changes(value: Any) -> bool:
    """Tell whether a function of C may change what it is given."""
    while isinstance(value, functools.partial):
        value = value.func
    if isinstance(value, (type, *_GETTERS)):
        return False
    if isinstance(value, methodcaller):
        return value.__reduce__()[1][0] in _WRITING
    name = value.__name__
    if isinstance(value, _DESCRIPTORS):
        return name in _WRITING or not issubclass(value.__objclass__, tuple(TABLES))
    if name in READERS or not BY_NAME.get(name, True):
        return False
    return name in _CHANGING if value.__module__ in _OPERATORS else True


def any_blind(values: Iterable[Any]) -> bool:
    """Tell whether there is such a function among some values."""
    return any(map(is_blind, values))
