"""What rewritten code calls: it takes note of an access that is about to be made, or makes a point of it.

Accesses are noted, for `races` to judge when the run is over: once for each stretch of a task between two of its steps.
Those at sites where a race was found before are points, too; they are noted, because others may still race with them.
While only one task lives, and it has waited for the ends of all others, nothing is noted: nobody can come in between,
and what others did came before.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from itertools import repeat
from types import FunctionType
from typing import Any, NamedTuple

from omni_ipc.testbed.instrument.effects import Passing, container
from omni_ipc.testbed.instrument.points import Points
from omni_ipc.testbed.instrument.rewriting.nodes import GROWS, HOOKS, hook_name
from omni_ipc.testbed.instrument.sites import SITES, Kind
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Task

Notes = dict[tuple[int, int], object]
_PLAIN = frozenset({int, float, str, bool, bytes, tuple, type(None), FunctionType, type})


class Stretch(NamedTuple):
    """What a task did between two of its steps.

    Args:
        depth: number of the steps of the run that were taken before.
        notes: the object, by site and its id.
        points: the same of accesses that were points.
    """

    task: Task
    depth: int
    notes: Notes
    points: Notes


class Unkept(NamedTuple):
    """Stands for an object of a type that must not be kept."""

    kind: type


class _Containers(dict[type, bool]):
    """Which types are containers."""

    def __missing__(self, kind: type) -> bool:
        found = self[kind] = container(kind) is not None
        return found


class Tracker:
    """The hooks, for the run that is on.

    Attributes:
        marked: by site, whether accesses there are points.
    """

    def __init__(self) -> None:
        self.marked = bytearray()
        self._stretches: list[Stretch] = []
        self._kernel: Kernel | None = None
        self._points: Points | None = None
        self._depth = -1
        self._task: Task | None = None
        self._notes: Notes = {}
        self._reached: Notes = {}
        self._containers = _Containers()
        self._outer: list[tuple[Any, ...]] = []  # of runs in which this one is nested

    def begin(self, kernel: Kernel, points: Points, marked: bytearray) -> None:
        """Follow a run."""
        self._outer.append((self._kernel, self._points, self.marked, self._stretches))
        self._kernel, self._points, self.marked = kernel, points, marked
        self._stretches = []
        self._depth = -1

    def end(self) -> list[Stretch]:
        """Follow it no more, and return what was noted."""
        stretches, self._notes = self._stretches, {}
        self._kernel, self._points, self.marked, self._stretches = self._outer.pop()
        self._depth, self._task = -1, None
        return stretches

    def _open(self, kernel: Kernel) -> None:
        """Begin a stretch."""
        self._depth, self._task = kernel.depth, kernel.current
        self._notes, self._reached = {}, {}
        if not kernel.over and self._task.index >= 0 and kernel.unjoined > 0:
            self._stretches.append(Stretch(self._task, self._depth, self._notes, self._reached))

    def _pause(self, kernel: Kernel, site: int, value: object, arguments: tuple[Any, ...]) -> None:
        """Let others run before an access."""
        if kernel.unjoined < 1 or kernel.over or kernel.current.index < 0 or self._points is None:
            return
        self._points.pause(kernel, site, value, arguments)
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        self._reached[site, id(value)] = value

    # Objects

    def touch(self, site: int, value: Any) -> Any:
        """Announce the use of an object."""
        kernel = self._kernel
        if kernel is None:
            return value
        if self.marked[site]:
            self._pause(kernel, site, value, ())
            return value
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        self._notes[site, id(value)] = value
        return value

    def touch_item(self, site: int, value: Any, key: Any) -> Any:
        """Announce the use of an item, of a container that was evaluated last."""
        kernel = self._kernel
        if kernel is None:
            return value
        if self.marked[site]:
            self._pause(kernel, site, value, (key,))
            return value
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        self._notes[site, id(value)] = value
        return value

    def touch_key(self, site: int, value: Any, key: Any) -> Any:
        """Announce the use of an item, whose key was evaluated last."""
        self.touch_item(site, value, key)
        return key

    def touch_pair(self, site: int, value: Any, key: Any) -> tuple[Any, Any]:
        """Announce the use of an item, for `operator.getitem`."""
        self.touch_item(site, value, key)
        return value, key

    def touch_entry(self, site: int, entry: Any, value: Any, key: Any) -> tuple[Any, Any, Any]:
        """Announce that an item is set, for `operator.setitem`."""
        self.touch_item(site, value, key)
        return value, key, entry

    def touch_outer(self, site: int, outer: Any, *arguments: Any) -> Any:
        """Announce the use of an object by ``super()``."""
        self._use(site, outer.__self__, arguments)
        return outer

    def touch_value(self, site: int, value: Any) -> Any:
        """Announce that all of a value is read, if it is a container."""
        if type(value) not in _PLAIN:
            self.touch(site, value)
        return value

    # Calls

    def touch_call(self, site: int, value: Any, *arguments: Any) -> Any:
        """Announce the call of a method, whose object was evaluated last."""
        self._use(site, value, arguments)
        return value

    def touch_last(self, site: int, value: Any, last: Any, *others: Any) -> Any:
        """Announce the call of a method, whose last argument was evaluated last."""
        self._use(site, value, (*others, last))
        return last

    def touch_passed(self, site: int, function: Any, last: Any, *others: Any) -> Any:
        """Announce the call of a function, whose last argument was evaluated last."""
        self._pass(site, function, (*others, last))
        return last

    def touch_named(self, site: int, last: Any, *others: Any) -> Any:
        """Announce the use of an attribute, by a function that was given its name."""
        self._use(site, others[0], (*others[1:], last))
        return last

    def touch_packed(self, site: int, function: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """Announce a call, whatever its arguments are, and return what makes it."""
        if not callable(function):
            return function  # which tells so when it is called
        values = (*arguments, *keywords.values())
        if SITES[site].kind is Kind.METHOD:
            self._use(site, getattr(function, "__self__", None), values)
        elif SITES[site].kind is Kind.BY_NAME and arguments:
            self._use(site, arguments[0], values[1:])
        else:
            self._pass(site, function, values)
        return functools.partial(function, *arguments, **keywords)

    def _use(self, site: int, value: Any, arguments: tuple[Any, ...]) -> None:
        kernel = self._kernel
        if kernel is None:
            return
        for argument in arguments:
            if self._containers[type(argument)]:
                self._hand(site, value, argument)
        if self.marked[site]:
            self._pause(kernel, site, value, arguments)
            return
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        self._notes[site, id(value)] = value

    def _hand(self, site: int, value: Any, argument: Any) -> None:
        """Announce what a method does to a container that is handed to it; see `Place.call_site`."""
        assert self._points is not None
        match self._points.effects.passing(SITES[site].name, type(value)):
            case Passing.READS:
                self.touch(site + 1, argument)
            case Passing.CHANGES:
                self.touch(site + 2, argument)

    def _pass(self, site: int, function: Any, arguments: tuple[Any, ...]) -> None:
        if self._kernel is None or self._points is None:
            return
        for argument in arguments:
            if self._containers[type(argument)] and not self._points.effects.knows(function):
                self.touch(site, argument)

    # Loops

    def touch_steps(self, site: int, iterable: Any) -> Any:
        """Announce each step of a loop, right before it is taken."""
        if self._kernel is None or self._points is None or type(iterable) in _PLAIN:
            return iterable
        if self._points.effects.use(site, SITES[site], type(iterable)) is None:
            return iterable
        seen = self.touch if self._containers[type(iterable)] else self._step
        return map(_SECOND, zip(map(seen, repeat(site), repeat(iterable)), iter(iterable), strict=False))

    def _step(self, site: int, steps: Any) -> None:
        """Announce a step of an iterator without keeping it alive: the end of a generator's life is an event."""
        kernel = self._kernel
        if kernel is None:
            return
        if self.marked[site]:
            self._pause(kernel, site, steps, ())
        elif kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        notes = self._reached if self.marked[site] else self._notes
        notes[site, id(steps)] = Unkept(type(steps))

    # Variables

    def touch_global(self, site: int) -> bool:
        """Announce the use of a global."""
        self.touch(site, None)
        return True

    def store_global(self, site: int, value: Any) -> Any:
        """Announce that a value is stored in a global."""
        self.touch(site, None)
        return value

    def touch_cell(self, site: int, holder: FunctionType) -> bool:
        """Announce the use of a variable of an enclosing function."""
        assert holder.__closure__ is not None
        self.touch(site, holder.__closure__[0])
        return True

    def store_cell(self, site: int, holder: FunctionType, value: Any) -> Any:
        """Announce that a value is stored in a variable of an enclosing function."""
        self.touch_cell(site, holder)
        return value

    def new_cell(self, holder: FunctionType) -> None:
        """Name a variable of a function that has just begun."""
        assert holder.__closure__ is not None
        self.new(holder.__closure__[0])

    # Objects that are made

    def new(self, value: Any) -> Any:
        """Name an object that was just made."""
        if self._kernel is not None and self._points is not None:
            self._points.names.make(self._kernel, value)
        return value


_SECOND = operator.itemgetter(1)


def hooks_of(tracker: Tracker) -> dict[str, Callable[..., Any]]:
    """Return what rewritten code calls, by the name that it has there."""
    special = {"getitem": operator.getitem, "setitem": operator.setitem}
    found: dict[str, Any] = {name: getattr(operator, name) for name in GROWS} | special
    found |= {name: getattr(tracker, name) for name in HOOKS if name not in found}
    return {hook_name(name): function for name, function in found.items()}
