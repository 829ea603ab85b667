"""What operations on objects read and write: a table by type and method."""

from __future__ import annotations

import contextlib
import enum
import functools
import os
import sys
import threading
import types
from collections import defaultdict
from collections.abc import Callable, Container, Mapping
from contextvars import Context
from typing import Any, NamedTuple

from omni_ipc.testbed.instrument.kinds import VALUES, ItemsTold, Told, bare, container, is_of, look_up, step_of
from omni_ipc.testbed.instrument.sites import Kind, Site
from omni_ipc.testbed.instrument.tables import (
    BY_NAME,
    IN_PLACE,
    OF_ERRORS,
    PURE,
    READERS,
    STATELESS,
    TABLES,
    TAKERS,
    TESTS,
    THROUGH,
    TOOLS,
    Effect,
    is_special,
)
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.where import is_stdlib

_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_OURS = (*TOOLS, "omni_ipc")
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)


_NAMED = (Kind.ATTRIBUTE, Kind.BY_NAME)
_ITEMS = ("__getitem__", "__setitem__", "__delitem__", "__contains__")
_UNTYPED = {"__setattr__": True, "__delattr__": True, "__getattribute__": False}
"""Methods of every object that use one of its attributes, and whether they change it."""


_OF_THREADS = {"name": "name", "_name": "name", "getName": "name", "setName": "name"}
_OF_THREADS |= {"daemon": "daemon", "_daemonic": "daemon", "isDaemon": "daemon", "setDaemon": "daemon"}
"""Names of threads, by which code without points keeps what is said of them."""

_STACKS = (contextlib.ExitStack, contextlib.AsyncExitStack)
"""Classes that keep state, of modules that else keep none."""

_ENVIRONMENT = type(os.environ)
"""Tells by itself: see `standard.library`."""

_RUNNING = (types.FrameType, types.CodeType)
"""What stands for a generator that runs, and for a function behind a cache that does."""


class Passing(enum.Enum):
    """What a method does to a container that is handed to it."""

    NOTHING = "nothing"
    READS = "reads"
    CHANGES = "changes"


class Use(NamedTuple):
    """What a site does to an object of a type.

    Args:
        part: the attribute; None for the object's content as a whole.
        effect: of containers.
        by: the function that does it, if it is Python code that is not instrumented.
    """

    part: str | None
    writes: bool
    effect: Effect | None = None
    by: Any = None


ALL = "*"
"""The part that stands for all attributes of an object."""


def _has_attributes(kind: type) -> bool:
    """Tell whether objects of a type have attributes that any code may set."""
    return kind.__dictoffset__ != 0 and not issubclass(kind, threading.local)


class Effects:
    """Tells what sites do to objects.

    Args:
        knows: tells whether a function is instrumented, so that what it does is seen inside of it.
        knows_module: tells the same of a module, by its name.
        codes: ids of the codes of functions that are.

    Attributes:
        known: what was found so far, by site and type.
        items: by type, where the use of items is told.
    """

    def __init__(
        self, knows: Callable[[Any], bool], knows_module: Callable[[str], bool], codes: Container[int]
    ) -> None:
        self.knows = knows
        self.codes = codes
        self.knows_module = knows_module
        self.items: Mapping[type, Told] = ItemsTold(knows, self._acts_itself)
        self._passing: dict[tuple[str, type, bool], Passing] = {}
        self._blind: dict[tuple[int, str | None], tuple[object, bool]] = {}  # by function, or code, and module
        self.known: dict[tuple[int, type], Use | None] = {}

    def use(self, number: int, site: Site, kind: type) -> Use | None:
        """Return what a site does to an object of a type; None if that touches no state, or is seen elsewhere."""
        key = number, kind
        if key not in self.known:
            self.known[key] = self._find(site, kind)
        return self.known[key]

    def _find(self, site: Site, kind: type) -> Use | None:
        if site.kind is Kind.INSIDE or (kind in _RUNNING and site.kind is not Kind.ATTRIBUTE):
            return Use(ALL, True)
        if issubclass(kind, VALUES) and not (site.kind in _NAMED and _has_attributes(kind)):
            return None
        if issubclass(kind, _CODE) and site.kind is not Kind.ATTRIBUTE:
            return None
        match site.kind:
            case Kind.ATTRIBUTE:
                return self._attribute(site, kind)
            case Kind.METHOD:
                return self._method(site.name, kind, outer=site.outer)
            case Kind.ITEM:
                name = "__getitem__" if not site.writes else "__delitem__" if site.name == "del" else "__setitem__"
                return self._sliced(site, self._method(name, kind))
            case Kind.MEMBER:
                return self._method("__contains__", kind)
            case Kind.STEP:
                return self._step(kind)
            case Kind.ARGUMENT:
                return self._argument(site, kind)
            case Kind.BY_NAME:
                return self._by_name(site.name, kind)
        return self._value(site, kind)

    def _attribute(self, site: Site, kind: type) -> Use | None:
        if site.name == "__dict__":
            return Use(ALL, True)
        if issubclass(kind, threading.Thread) and site.name in _OF_THREADS:
            return Use(_OF_THREADS[site.name], site.writes)
        found = look_up(kind, site.name)
        if is_special(site.name) and (found is not None or issubclass(kind, type)):
            is_of_error = issubclass(kind, BaseException) and site.name in OF_ERRORS
            return Use(site.name, site.writes) if is_of_error else None
        if issubclass(kind, (type, types.ModuleType)):
            return Use(site.name, site.writes)
        if isinstance(found, functools.cached_property):
            return Use(site.name, True)
        if found is None or isinstance(found, types.MemberDescriptorType):
            return Use(site.name, site.writes)
        if hasattr(type(found), "__set__"):
            return None if self._is_seen(found, kind) else Use(site.name, site.writes)
        if isinstance(found, (types.FunctionType, classmethod, staticmethod, property)):
            return Use(site.name, True) if site.writes else None
        return Use(site.name, site.writes)

    def _method(self, name: str, kind: type, *, outer: bool = False) -> Use | None:
        base = container(kind)
        found = look_up(kind, name)
        if issubclass(kind, threading.Thread) and name in _OF_THREADS:
            return Use(_OF_THREADS[name], name.startswith("set"))
        if issubclass(kind, Context):
            return Use(ALL, name == "run")
        if base is not None and (outer or not isinstance(found, types.FunctionType)):
            return _builtin(TABLES[base].get(name), name, kind)
        if name in _UNTYPED and not isinstance(found, types.FunctionType):
            return Use(ALL, _UNTYPED[name])
        if found is None:
            return None if name.startswith("__") else Use(name, False)
        if (
            issubclass(kind, type)
            or isinstance(found, (type, types.MemberDescriptorType))
            or self._is_seen(found, kind)
        ):
            return None
        if isinstance(function := bare(found), types.FunctionType):
            return Use(ALL, True, by=function)  # it may do anything
        return Use(ALL, name not in PURE)

    def _acts_itself(self, kind: type) -> bool:
        return all(self._method(name, kind) is None for name in _ITEMS)

    def _step(self, kind: type) -> Use | None:
        if container(kind) is not None:
            return self._method("__iter__", kind)
        if issubclass(kind, _VIEWS):
            return Use(None, False, Effect.READ)
        step = step_of(kind)
        if step is None:
            return self._method("__iter__", kind)
        return None if self._is_seen(look_up(kind, step), kind) else Use(ALL, True)

    def _argument(self, site: Site, kind: type) -> Use | None:
        reads = site.name in READERS
        if step_of(kind) is not None:
            return self._step(kind)
        if container(kind) is None:
            return self._whole(site.name, kind, writes=not reads)
        effect = Effect.SHAPE_READ if site.name == "len" else Effect.READ if reads else Effect.WRITE
        return Use(None, effect.writes, effect)

    def _by_name(self, name: str, kind: type) -> Use | None:
        if name in ("next", "anext"):
            return self._step(kind)
        return Use(ALL, BY_NAME[name]) if container(kind) is None else None

    def passing(self, method: str, kind: type, *, outer: bool = False) -> Passing:
        """Tell what a method of an object of a type does to a container that is handed to it.

        Args:
            outer: of the method behind the type's own, as in `Site`.
        """
        key = method, kind, outer
        if key not in self._passing:
            self._passing[key] = self._find_passing(method, kind, outer)
        return self._passing[key]

    def _find_passing(self, method: str, kind: type, outer: bool) -> Passing:
        if issubclass(kind, Controlled):
            return Passing.NOTHING
        if issubclass(kind, VALUES):
            return Passing.READS
        if container(kind) is not None and (outer or not isinstance(look_up(kind, method), types.FunctionType)):
            return Passing.READS if method in TAKERS else Passing.NOTHING
        found = bare(look_up(kind, method))
        if self.knows(found) or is_of(getattr(found, "__module__", None) or "", TOOLS):
            return Passing.NOTHING
        reads = method in READERS or method in IN_PLACE or self._is_seen(found, kind)
        return Passing.READS if reads else Passing.CHANGES

    def _value(self, site: Site, kind: type) -> Use | None:
        if issubclass(kind, _VIEWS):
            return Use(None, False, Effect.READ)
        if step_of(kind) is not None:
            return self._step(kind) if site.name == "*" else None
        base = container(kind)
        if base is None:
            return self._whole(site.name, kind, writes=False)
        if any(isinstance(look_up(kind, name), types.FunctionType) for name in _tests(site.name)):
            return None
        effect = Effect.SHAPE_READ if site.name == "bool" else Effect.READ
        return Use(None, False, effect)

    def _whole(self, name: str, kind: type, *, writes: bool) -> Use | None:
        """Return what code without points does to an object that it is given, or that an operator is about."""
        if issubclass(kind, (type, types.ModuleType)) or issubclass(kind, _VIEWS):
            return None
        acts_itself = self.knows(kind) and not hasattr(kind, "__dataclass_fields__") and name not in THROUGH
        return None if acts_itself and not writes else Use(ALL, writes)

    def is_blind_in(self, function: Any) -> bool:
        """Tell whether a function may do something to what it is given that is not seen inside of it."""
        kind = type(function)
        if kind is types.FunctionType and not is_stdlib(function.__code__.co_filename):
            kept = function.__code__
        elif kind is types.BuiltinFunctionType or kind is type:
            kept = function
        else:
            return self._is_blind_in(function if isinstance(function, type) else bare(function))
        key = id(kept), function.__module__
        known = self._blind.get(key)
        if known is not None:
            return known[1]
        found = self._is_blind_in(function)
        if kept is not function or _is_lasting(function):
            self._blind[key] = kept, found
        return found

    def _is_blind_in(self, function: Any) -> bool:
        if isinstance(function, type) and issubclass(function, BaseException):
            return False
        if self.knows(function):
            return isinstance(function, type) and _is_filled_by_c(function)
        return not is_of(getattr(function, "__module__", None) or "", _OURS)

    def _sliced(self, site: Site, use: Use | None) -> Use | None:
        if use is None or use.effect is None or site.name != "[:]":
            return use
        effect = Effect.WRITE if site.writes else Effect.READ
        return Use(None, effect.writes, effect)

    def _is_seen(self, found: Any, kind: type) -> bool:
        """Tell whether what a class has under a name is instrumented code, or keeps no state of its own."""
        function = bare(found)
        if kind is _ENVIRONMENT or self.knows(function):
            return True
        module = getattr(function, "__module__", None) or ""
        if module == "collections.abc":  # works by other methods of the object
            return self.knows(kind)
        if is_of(module, STATELESS):
            return not issubclass(kind, _STACKS)
        return getattr(function, "__objclass__", None) is object


def _is_filled_by_c(kind: type) -> bool:
    """Tell whether objects of a class are made of what they are given as those of a builtin container are."""
    if container(kind) is None and not issubclass(kind, (tuple, frozenset)):
        return False
    made = bare(look_up(kind, "__init__" if container(kind) is not None else "__new__"))
    return not isinstance(made, types.FunctionType) or is_stdlib(made.__code__.co_filename)


def _is_lasting(value: Any) -> bool:
    """Tell whether a function or a class has a name in its module, so that to keep it costs no memory."""
    return getattr(sys.modules.get(value.__module__), value.__name__, None) is value


def _builtin(effect: Effect | None, name: str, kind: type) -> Use | None:
    """Return the use of a builtin container by one of its own methods."""
    if effect is None:
        return None if name in ("__bool__", "__format__", "__hash__") else Use(None, True, Effect.WRITE)
    if name == "__getitem__" and issubclass(kind, defaultdict):
        effect = Effect.KEY_WRITE
    return Use(None, effect.writes, effect)


def _tests(name: str) -> tuple[str, ...]:
    return TESTS.get(name, ("__iter__",))
