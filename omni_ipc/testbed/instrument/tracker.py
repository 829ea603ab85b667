"""What rewritten code calls: it takes note of an access that is about to be made, or makes a point of it.

Accesses are noted, for `races` to judge when the run is over: once for each stretch of a task between two of its steps.
Those at sites where a race was found before are points, too; they are noted, because others may still race with them.
While only one task lives, and it has waited for the ends of all others, nothing is noted: nobody can come in between,
and what others did came before.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections import deque
from collections.abc import Callable
from itertools import repeat
from types import BuiltinFunctionType, FunctionType, MethodWrapperType
from typing import Any

from omni_ipc.testbed.instrument.addresses import Address
from omni_ipc.testbed.instrument.behind import FLAT, VIEWS, WINDOWS
from omni_ipc.testbed.instrument.bound import Bound, Handed
from omni_ipc.testbed.instrument.callables import is_blind
from omni_ipc.testbed.instrument.effects import has_content
from omni_ipc.testbed.instrument.noting import Uses
from omni_ipc.testbed.instrument.rewriting.nodes import GROWS, HOOKS, PLAIN, hook_name
from omni_ipc.testbed.instrument.sites import SITES, Kind
from omni_ipc.testbed.instrument.using import Using
from omni_ipc.testbed.where import locate_here

_BOUND = (BuiltinFunctionType, MethodWrapperType)
_COUNTED = (dict, set, deque)  # their iterators tell when the number of items is not what it was when they were made


class Tracker(Using):
    """The hooks, for the run that is on."""

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

    def touch_names(self, site: int, value: Any) -> Any:
        """Announce the use of an object, whose attributes may be used as the items of a dictionary from now on."""
        if self._points is not None:
            if SITES[site].writes:
                self._exchanged.append((value, locate_here()))
            else:
                self._points.names.bare(value)
        return self.touch(site, value)

    def touch_item(self, site: int, value: Any, key: Any) -> Any:
        """Announce the use of an item, of a container that was evaluated last."""
        kernel = self._kernel
        if kernel is None:
            return value
        if self._shows[type(value)]:
            self._together(kernel, lambda: self._item_of(site, value))
            return value
        if self.marked[site]:
            self._pause(kernel, site, value, (key,))
            return value
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        self._notes[site, id(value)] = value
        return value

    def _item_of(self, site: int, value: Any) -> Uses:
        own = [] if type(value) in WINDOWS else [(site, value)]
        return [*self._through(site, value), *own]

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
        """Announce that all of a value is read."""
        if type(value) not in FLAT and self._kernel is not None:
            self._together(self._kernel, lambda: self._read(site, SITES[site].name, value))
        return value

    def touch_both(self, site: int, left: Any, right: Any) -> tuple[Any, Any]:
        """Announce that all of two values is read at once, by a function of `operator`."""
        if self._kernel is not None and not (type(left) in FLAT and type(right) in FLAT):
            name = SITES[site].name
            self._together(
                self._kernel, lambda: [use for value in (left, right) for use in self._read(site, name, value)]
            )
        return left, right

    def touch_grown(self, site: int, value: Any, added: Any) -> tuple[Any, Any]:
        """Announce that something is added to a value, in place if it is a container."""
        if not (type(value) in FLAT and type(added) in FLAT):
            self._use(site, value, (added,))
        return value, added

    def touch_added(self, site: int, value: Any, added: Any) -> Any:
        """Announce that to a value something is added that was evaluated last."""
        self.touch_grown(site, value, added)
        return added

    def touch_second(self, site: int, right: Any, left: Any) -> Any:
        """Announce that all of two values is read at once, of which the second was evaluated last."""
        self.touch_both(site, left, right)
        return right

    def touch_member(self, site: int, value: Any, key: Any) -> Any:
        """Announce that a key is looked for in a value that was evaluated last."""
        if self._kernel is not None and type(value) in WINDOWS:
            self._together(self._kernel, lambda: self._shown(site + 1, value))
            return value
        return self.touch_item(site, value, key)

    def touch_bound(self, site: int, value: Any) -> Any:
        """Let what is about to be kept of a container, one of its methods, announce its calls."""
        if type(value) in _BOUND and self._kernel is not None and has_content(type(value.__self__)):
            return Bound(value, functools.partial(self._use, site))
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

    # Loops

    def touch_steps(self, site: int, iterable: Any) -> Any:
        """Announce each step of a loop, right before it is taken."""
        if self._kernel is None or self._points is None or type(iterable) in FLAT or type(iterable) is tuple:
            return iterable
        if type(iterable) in WINDOWS:
            seen: Callable[..., Any] = functools.partial(self._step, self._shown(site + 1, iterable))
        elif self._points.effects.use(site, SITES[site], type(iterable)) is None:
            return iterable
        elif hasattr(type(iterable), "__next__"):
            seen = functools.partial(self._step, [])
        else:
            seen = self.touch
        if isinstance(iterable, _COUNTED) or type(iterable) in VIEWS:
            seen(site, iterable)
        return map(_SECOND, zip(map(seen, repeat(site), repeat(iterable)), iter(iterable), strict=False))

    def _step(self, shown: Uses, site: int, steps: Any) -> None:
        """Announce a step of an iterator or a view, and that what it shows is read."""
        if self._kernel is not None:
            self._together(self._kernel, lambda: [(site, steps), *shown])

    # Code that runs for a while

    def touch_inside(self, site: int, value: Any = None, *owner: Any) -> Any:
        """Announce that a generator, or a function behind a cache, is in the middle of what its caller asked for.

        Args:
            value: what is yielded, or returned.
            owner: the object whose method it is.
        """
        if self._kernel is not None:
            frame = sys._getframe(1)
            is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR
            running = self.generators.of(frame) if is_generator else frame.f_code
            self._together(self._kernel, lambda: [(site, part) for part in (running, *owner)])
        return value

    def touch_next(self, site: int, steps: Any) -> Any:
        """Announce a step of an iterator."""
        self._use(site, steps, ())
        return steps

    def address(self, value: Any) -> int:
        """Stand for ``id``."""
        found = Address(id(value))
        found.tell = self._tell_of_address
        return found

    def _tell_of_address(self) -> None:
        self.hide("addresses are compared, which are others in another process; compare what the code under test made")

    def touch_handed(self, site: int, value: Any) -> Any:
        """Let a function of C that is handed to Python code, to be called later, announce its calls."""
        if self._kernel is None or not is_blind(value) or isinstance(value, type):
            return value
        return Handed(value, functools.partial(self._pass, site))

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
    special: dict[str, Any] = {"getitem": operator.getitem, "setitem": operator.setitem}
    found: dict[str, Any] = {name: getattr(operator, name) for name in (*GROWS, *PLAIN)} | special
    found |= {name: getattr(tracker, name) for name in HOOKS if name not in found}
    return {hook_name(name): function for name, function in found.items()}
