"""Uses of objects by code without points: what it gets at through what it is given, and that it cannot be seen."""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any

from omni_ipc.testbed.instrument.behind import FLAT, WINDOWS, all_behind, called_by, shown_by, wrapped_by
from omni_ipc.testbed.instrument.callables import any_blind, changes, is_blind
from omni_ipc.testbed.instrument.effects import Passing
from omni_ipc.testbed.instrument.generators import run_name
from omni_ipc.testbed.instrument.kinds import BEHIND
from omni_ipc.testbed.instrument.noting import Noting, Stretch, Uses
from omni_ipc.testbed.instrument.points import Points
from omni_ipc.testbed.instrument.sites import BY_LIBRARY, CHANGED_BY_C, READ_BY_C, SITES, Kind
from omni_ipc.testbed.instrument.tables import LOOKING, SHALLOW, THROUGH
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.where import locate_here

_LIVES = ("weakref", "_weakref")
_KEPT_ALIVE = "objects live to the end of a run, so no weak reference ended and no finalizer ran earlier"
_TWINS = "two objects have one dictionary of attributes, or it is used beside its object; let each have its own"
_OF_STRINGS = (builtins.exec, builtins.eval)
_AWAITABLE = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE
_EMPTY = FLAT - {CodeType}
"""Types of objects behind which there is nothing that code without points could get at."""


class _Holds(dict[type, bool]):
    """Of which types there are objects that may change, or hold others that may."""

    def __missing__(self, kind: type) -> bool:
        found = self[kind] = kind not in FLAT
        return found


class Using(Noting):
    """The part that announces what is used besides what is named."""

    def __init__(self) -> None:
        super().__init__()
        self._holds = _Holds()
        self.strangers: dict[CodeType, str] = {}  # functions without points of generators that tasks share; modules
        self._exchanged: list[tuple[Any, str | None]] = []  # objects that got other dictionaries of attributes, where

    def begin(self, kernel: Kernel, points: Points, marked: bytearray) -> None:
        super().begin(kernel, points, marked)
        kernel.using, kernel.library = self.change, self._use_kept
        self.strangers = {}

    def end(self) -> tuple[list[Stretch], dict[str, None]]:
        exchanged, self._exchanged = self._exchanged, []
        for value, where in exchanged:
            self._tell_of_twins(value, where)
        return super().end()

    def _tell_of_twins(self, value: Any, where: str | None) -> None:
        """Tell of an object whose attributes are those of another one, or items of a dictionary that is used."""
        assert self._points is not None
        names, attributes = self._points.names, vars(value)
        owner = names.owner(id(attributes))
        names.bare(value)
        is_twin = owner is not None and owner is not value
        if is_twin or any(at == id(attributes) for _, _, notes in self._stretches for _, at in notes):
            self.unseen[f"{_TWINS}, at {where}"] = None

    def hide(self, what: str) -> None:
        """Take note of something that is not seen, and where it is."""
        kernel = self._kernel
        if kernel is not None and not kernel.over and kernel.current.index >= 0:
            self.unseen[f"{what}, at {locate_here()}"] = None

    def _shown(self, site: int, value: Any) -> Uses:
        """Give what a view or an iterator shows, and what it changes."""
        parts = shown_by(value)
        for part in (value, *parts):
            self._meet(part)
        if not (called := called_by(value)):
            return [(site, part) for part in parts]
        return self._looked_into(called, parts)

    def _meet(self, part: Any) -> None:
        """Take note of a generator, and of its function if tasks share it and nothing is seen in its middle."""
        assert self._kernel is not None
        assert self._points is not None
        if (met := self.generators.meet(part, self._kernel.current.index)) is None:
            return
        code, module = met
        if code.co_flags & _AWAITABLE:
            self._points.followed.add(run_name(code))
        if id(code) not in self._codes:
            self.strangers[code] = module

    def _looked_into(self, called: Sequence[Any], values: Iterable[Any]) -> Uses:
        """Give what functions of C get at that are called by C code."""
        site = CHANGED_BY_C if any(map(changes, called)) else READ_BY_C
        return [(site, part) for value in values for part in all_behind(value, objects=True)]

    def _use(self, site: int, value: Any, arguments: tuple[Any, ...]) -> None:
        """Announce the use of an object, by a method, or whatever else takes arguments."""
        kernel = self._company
        if kernel is None:
            return
        for argument in arguments:
            if self._holds[type(argument)] and self._hands(kernel, site, value, arguments):
                return
        if self._items[type(value)] is BEHIND:
            self._together(kernel, lambda: [*self._through(site, value), (site, value)])
            return
        if self.marked[site]:
            self._pause(kernel, site, value, arguments)
            return
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        self._notes[site, id(value)] = value

    def change(self, value: Any) -> None:
        """Announce that code without points changes something."""
        self._use(CHANGED_BY_C, value, ())

    def _use_kept(self, parts: Callable[[], Iterable[tuple[Any, str]]], changes: bool) -> None:
        """Announce that the standard library uses attributes of what it keeps, in objects or modules of its own."""
        if self._company is not None:
            self._together(self._company, lambda: [(BY_LIBRARY[name, changes], keeper) for keeper, name in parts()])

    def _through(self, site: int, value: Any) -> Uses:
        """Give what is used through a view, an iterator, or an object whose class is code without points."""
        where = SITES[site]
        use = None if self._points is None else self._points.effects.use(site, where, type(value))
        if use is None or use.by is None:
            return self._shown(site, value)
        reads = where.kind is not Kind.METHOD or where.name in LOOKING
        return [(site if reads else CHANGED_BY_C, part) for part in wrapped_by(value)]

    def _hands(self, kernel: Kernel, site: int, value: Any, arguments: tuple[Any, ...]) -> bool:
        """Announce a call together with what it does to what is handed to it; see `Place.call_site`."""
        assert self._points is not None
        name, effects = SITES[site].name, self._points.effects
        if (known := _own(value, name)) is not None and not effects.is_blind_in(known):
            return False
        passing = effects.passing(name, type(value), outer=SITES[site].outer)
        if passing is Passing.NOTHING:
            return False
        handed = site + (1 if passing is Passing.READS else 2)
        deep = name in THROUGH or any_blind(arguments)

        def uses() -> Uses:
            inside = [part for argument in arguments for part in all_behind(argument, objects=deep)]
            return [(handed, part) for part in inside] + [*self._shown(site, value), (site, value)]

        self._together(kernel, uses)
        return True

    def _pass(self, site: int, function: Any, arguments: tuple[Any, ...]) -> None:
        """Announce the call of a function with what it does to what is handed to it."""
        kernel, points = self._kernel, self._points
        if kernel is None or points is None or not points.effects.is_blind_in(function):
            return
        while isinstance(function, functools.partial):
            arguments = (*function.args, *function.keywords.values(), *arguments)
            function = function.func
        if getattr(function, "__module__", None) in _LIVES:
            kernel.curtailed.add(_KEPT_ALIVE)
        self._tell_of_strings(function, arguments)
        if self._company is None:
            return
        name = SITES[site].name
        if isinstance(function, type) and points.effects.knows(function):
            site, name = READ_BY_C, "list"  # as the container does that it derives from, whatever it is called
        given = [*_cache(function), *arguments]
        if _EMPTY.issuperset(map(type, given)):
            return
        called = [argument for argument in arguments if is_blind(argument)]

        def uses() -> Uses:
            inside = self._looked_into(called, given) if called else []
            return [*inside, *(use for value in given for use in self._read(site, name, value))]

        self._together(kernel, uses)

    def _tell_of_strings(self, function: Any, arguments: tuple[Any, ...]) -> None:
        """Tell of code that has no text which could be rewritten."""
        if isinstance(function, FunctionType):
            if self._is_of_string(function):
                self.hide(f"'{function.__qualname__}' was made of a string, and has no points; write it as a function")
        elif function in _OF_STRINGS and arguments and not _is_plain(arguments[0]):
            self.hide(f"code that {function.__name__}() makes of a string has no points; make it a function")

    def _is_of_string(self, function: FunctionType) -> bool:
        """Tell whether a function has no text that could be rewritten: as one whose globals are no module's."""
        assert self._points is not None
        names = function.__globals__
        home = sys.modules.get(names.get("__name__") or "")
        if home is None or vars(home) is not names:
            return True
        is_ours = self._points.effects.knows_module(function.__module__)
        return is_ours and function.__code__.co_filename.startswith("<")

    def _read(self, site: int, name: str, value: Any) -> Uses:
        """Give what code without points gets at, by the name of what does it."""
        if name in SHALLOW:
            own = [] if isinstance(value, (tuple, frozenset)) else [(site, value)]
            return [*self._shown(site, value), *own]
        if type(value) is CodeType:
            return [(site, value)]
        shown = self._shown(site, value) if type(value) in WINDOWS else []
        return [*shown, *((site, part) for part in all_behind(value, objects=name in THROUGH))]


def _own(value: Any, name: str) -> Any:
    """Return what an object has under a name of its own, without calling it; or a class, or a module."""
    if isinstance(value, type):
        return next((vars(base)[name] for base in value.__mro__ if name in vars(base)), None)
    return getattr(value, "__dict__", {}).get(name)


def _cache(function: Any) -> list[Any]:
    """Return what a function keeps: a cache, and that it runs; or the container whose method it is."""
    if not hasattr(function, "cache_clear"):
        owner = getattr(function, "__self__", None)
        return [] if type(owner) in FLAT else [owner]
    code = getattr(getattr(function, "__wrapped__", None), "__code__", None)
    return [function] if code is None else [function, code]


def _is_plain(source: object) -> bool:
    """Tell whether the text of an expression names nothing."""
    return isinstance(source, str) and not any(map(str.isidentifier, source))
