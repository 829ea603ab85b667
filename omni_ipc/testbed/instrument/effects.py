"""What operations on objects read and write: a table by type and method."""

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
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from omni_ipc.testbed.instrument.sites import Kind, Site
from omni_ipc.testbed.objects.base import Controlled


class Effect(enum.Enum):
    """What is done to a container."""

    KEY_READ = "reads an item"
    KEY_WRITE = "sets an item, that may be new"
    KEY_DELETE = "takes an item away"
    SHAPE_READ = "reads which items there are"
    READ = "reads all items"
    WRITE = "changes any items"

    @property
    def writes(self) -> bool:
        return self in (Effect.KEY_WRITE, Effect.KEY_DELETE, Effect.WRITE)


def _table(**methods: str) -> dict[str, Effect]:
    return {name: Effect[effect] for effect, names in methods.items() for name in names.split()}


_MAPPING = _table(
    KEY_READ="get __getitem__ __contains__",
    KEY_WRITE="setdefault __setitem__",
    KEY_DELETE="pop __delitem__",
    SHAPE_READ="keys __iter__ __len__ __reversed__ fromkeys",
    READ="items values copy __eq__ __ne__ __or__ __ror__ __repr__ __str__ most_common elements total",
    WRITE="update clear popitem move_to_end subtract __ior__ __init__ += |=",
)
_SEQUENCE = _table(
    KEY_READ="__getitem__",
    KEY_WRITE="__setitem__",
    SHAPE_READ="__len__",
    READ="index count copy __iter__ __contains__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __add__ __mul__ __rmul__ "
    "__repr__ __str__ __reversed__ hex decode find startswith endswith join split strip lower upper",
    WRITE="append extend insert remove pop clear sort reverse appendleft extendleft popleft rotate __delitem__ "
    "__iadd__ __imul__ __init__ += *=",
)
_SET = _table(
    KEY_READ="__contains__",
    KEY_WRITE="add",
    KEY_DELETE="discard remove",
    SHAPE_READ="__len__",
    READ="copy union intersection difference symmetric_difference issubset issuperset isdisjoint __iter__ __eq__ __ne__ "
    "__or__ __and__ __sub__ __xor__ __le__ __lt__ __ge__ __gt__ __repr__ __str__",
    WRITE="update clear pop intersection_update difference_update symmetric_difference_update __ior__ __iand__ "
    "__isub__ __ixor__ __init__ |= &= -= ^= +=",
)
TABLES: Mapping[type, Mapping[str, Effect]] = {
    dict: _MAPPING,
    list: _SEQUENCE,
    deque: _SEQUENCE,
    bytearray: _SEQUENCE,
    set: _SET,
}

_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_VALUES = (
    *(int, float, complex, str, bytes, tuple, frozenset, type(None), range, slice, memoryview, type(...), enum.Enum),
    *(re.Pattern, re.Match, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta, pathlib.PurePath),
    *(types.CodeType, types.FrameType, types.TracebackType, threading.local, contextvars.ContextVar, Controlled),
)
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)
_STATELESS = ("abc", "collections.abc", "typing", "contextlib", "logging", "threading", "queue", "asyncio", "enum")
_STATELESS_TOO = ("_thread", "concurrent.futures", "contextvars", "warnings", "dataclasses", "builtins")

MAKERS = frozenset("list dict set bytearray deque OrderedDict defaultdict Counter copy deepcopy sorted iter".split())
"""Functions that make a container; a class is known by its capital."""

OBLIVIOUS = frozenset(
    "isinstance issubclass type id callable super int float print locals globals TypeVar cast current_thread".split()
)
"""Functions that read nothing of what they are given."""

_READERS = frozenset(
    "len list tuple set frozenset dict sorted sum min max any all str repr format bytes bytearray deque OrderedDict "
    "Counter defaultdict enumerate zip map filter reversed iter hash join dumps deepcopy copy islice chain reduce "
    "ascii bool choice nsmallest nlargest bisect bisect_left bisect_right product debug info warning error exception "
    "log pformat pprint fromkeys accumulate groupby namedtuple partial".split()
)
BY_NAME = {"getattr": False, "hasattr": False, "setattr": True, "delattr": True, "vars": False, "dir": False, "next": True}
"""Functions that use an attribute by its name, or all of them, or take a step; and whether they change anything."""

_TOOLS = ("threading", "queue", "concurrent.futures", "asyncio", "contextvars")  # they pass things on unseen
_PURE = ("__getitem__", "__contains__", "__len__", "__iter__", "__eq__")
_TAKERS = frozenset("update extend extendleft += |= &= -= ^= union intersection difference symmetric_difference".split())
_TESTS = {"bool": ("__bool__", "__len__"), "==": ("__eq__",), "str": ("__format__", "__str__", "__repr__")}


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
    """

    part: str | None
    writes: bool
    effect: Effect | None = None


ALL = "*"
"""The part that stands for all attributes of an object."""


def container(kind: type) -> type | None:
    """Return the builtin container that a type is, or derives from."""
    return next((base for base in kind.__mro__ if base in TABLES), None)


class Effects:
    """Tells what sites do to objects.

    Args:
        knows: tells whether a function is instrumented, so that what it does is seen inside of it.
    """

    def __init__(self, knows: Callable[[Any], bool]) -> None:
        self.knows = knows
        self._passing: dict[tuple[str, type], Passing] = {}
        self._uses: dict[tuple[int, type], Use | None] = {}

    def use(self, number: int, site: Site, kind: type) -> Use | None:
        """Return what a site does to an object of a type; None if that touches no state, or is seen elsewhere."""
        key = number, kind
        if key not in self._uses:
            self._uses[key] = self._find(site, kind)
        return self._uses[key]

    def _find(self, site: Site, kind: type) -> Use | None:
        if issubclass(kind, _VALUES) or (issubclass(kind, _CODE) and site.kind is not Kind.ATTRIBUTE):
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
        if site.name.startswith("__") and site.name.endswith("__"):
            return None
        if issubclass(kind, (type, types.ModuleType)):
            return Use(site.name, site.writes)
        found = _look_up(kind, site.name)
        if found is None or isinstance(found, types.MemberDescriptorType):
            return Use(site.name, site.writes)
        if hasattr(type(found), "__set__"):
            return None if self._is_seen(found) else Use(site.name, site.writes)
        if isinstance(found, (types.FunctionType, classmethod, staticmethod, property)):
            return Use(site.name, True) if site.writes else None
        return Use(site.name, site.writes)

    def _method(self, name: str, kind: type, *, outer: bool = False) -> Use | None:
        base = container(kind)
        found = _look_up(kind, name)
        if base is not None and (outer or not isinstance(found, types.FunctionType)):
            return _builtin(TABLES[base].get(name), name, kind)
        if found is None:
            return None if name.startswith("__") else Use(name, False)
        if issubclass(kind, type) or isinstance(found, (type, types.MemberDescriptorType)) or self._is_seen(found):
            return None
        return Use(ALL, isinstance(found, types.FunctionType) or name not in _PURE)  # it may do anything

    def _step(self, kind: type) -> Use | None:
        if container(kind) is not None:
            return self._method("__iter__", kind)
        if issubclass(kind, _VIEWS):
            return Use(None, False, Effect.READ)
        return Use(ALL, True) if hasattr(kind, "__next__") and not self._is_seen(_look_up(kind, "__next__")) else None

    def _argument(self, site: Site, kind: type) -> Use | None:
        if container(kind) is None:
            return None
        reads = site.name in _READERS
        effect = Effect.SHAPE_READ if site.name == "len" else Effect.READ if reads else Effect.WRITE
        return Use(None, effect.writes, effect)

    def _by_name(self, name: str, kind: type) -> Use | None:
        if name == "next":
            return self._step(kind)
        return Use(ALL, BY_NAME[name]) if container(kind) is None else None

    def passing(self, method: str, kind: type) -> Passing:
        """Tell what a method of an object of a type does to a container that is handed to it."""
        key = method, kind
        if key not in self._passing:
            self._passing[key] = self._find_passing(method, kind)
        return self._passing[key]

    def _find_passing(self, method: str, kind: type) -> Passing:
        if issubclass(kind, Controlled):
            return Passing.NOTHING
        if issubclass(kind, _VALUES):
            return Passing.READS
        if container(kind) is not None and not isinstance(_look_up(kind, method), types.FunctionType):
            return Passing.READS if method in _TAKERS else Passing.NOTHING
        found = _look_up(kind, method)
        while isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if self.knows(found) or (getattr(found, "__module__", None) or "").startswith(_TOOLS):
            return Passing.NOTHING
        return Passing.READS if method in _READERS or self._is_seen(found) else Passing.CHANGES

    def _value(self, site: Site, kind: type) -> Use | None:
        if issubclass(kind, _VIEWS):
            return Use(None, False, Effect.READ)
        base = container(kind)
        if base is None or any(isinstance(_look_up(kind, name), types.FunctionType) for name in _tests(site.name)):
            return None
        effect = Effect.SHAPE_READ if site.name == "bool" else Effect.READ
        return Use(None, False, effect)

    def _sliced(self, site: Site, use: Use | None) -> Use | None:
        if use is None or use.effect is None or site.name != "[:]":
            return use
        effect = Effect.WRITE if site.writes else Effect.READ
        return Use(None, effect.writes, effect)

    def _is_seen(self, found: Any) -> bool:
        """Tell whether what a class has under a name is instrumented code, or keeps no state of its own."""
        function = getattr(found, "fget", found)
        while isinstance(function, (staticmethod, classmethod, types.MethodType)):
            function = function.__func__
        if self.knows(function):
            return True
        module = getattr(function, "__module__", None) or ""
        return module.startswith((*_STATELESS, *_STATELESS_TOO)) or getattr(function, "__objclass__", None) is object


def _builtin(effect: Effect | None, name: str, kind: type) -> Use | None:
    """Return the use of a builtin container by one of its own methods."""
    if effect is None:
        return None if name in ("__bool__", "__format__", "__hash__") else Use(None, True, Effect.WRITE)
    if name == "__getitem__" and issubclass(kind, defaultdict):
        effect = Effect.KEY_WRITE
    return Use(None, effect.writes, effect)


def _tests(name: str) -> tuple[str, ...]:
    return _TESTS.get(name, ("__iter__",))


def _look_up(kind: type, name: str) -> Any:
    """Return what a class has under a name, without calling it."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None
