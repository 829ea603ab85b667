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
from omni_ipc.testbed.instrument.awaiting import Awaiting
from omni_ipc.testbed.instrument.behind import FLAT, ITERATORS, VIEWS, WINDOWS
from omni_ipc.testbed.instrument.bound import Bound, Handed
from omni_ipc.testbed.instrument.callables import is_blind
from omni_ipc.testbed.instrument.kinds import BEHIND, container, has_content, look_up, step_of
from omni_ipc.testbed.instrument.later import AsyncSteps, announced
from omni_ipc.testbed.instrument.noting import Uses
from omni_ipc.testbed.instrument.rewriting.nodes import GROWS, HOOKS, PLAIN, hook_name
from omni_ipc.testbed.instrument.sites import SITES, Kind
from omni_ipc.testbed.instrument.tables import SETTING

_BOUND = (BuiltinFunctionType, MethodWrapperType)
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
_STEPPED = VIEWS | ITERATORS
_COUNTED = (dict, set, deque)  # their iterators tell when the number of items is not what it was when they were made


class Tracker(Awaiting):
    """The hooks, for the run that is on."""

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
        if id(getattr(function, "__code__", None)) not in self._codes:  # what has points tells itself what it does
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
            if SITES[site].name in SETTING and len(arguments) > 1:
                self._exchange(arguments[0], arguments[1])
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
            return self._own_steps(site, iterable)
        elif hasattr(type(iterable), "__next__"):
            seen = functools.partial(self._step, [])
        elif self._items[type(iterable)] is BEHIND:
            seen = functools.partial(self._step, self._through(site, iterable))
        else:
            seen = self.touch
        if isinstance(iterable, _COUNTED) or type(iterable) in VIEWS:
            seen(site, iterable)
        return map(_SECOND, zip(map(seen, repeat(site), repeat(iterable)), iter(iterable), strict=False))

    def _own_steps(self, site: int, iterable: Any) -> Any:
        """Give what has points in its own code, and announce the steps of an iterator of C that this may return."""
        kind = type(iterable)
        if hasattr(kind, "__next__") or not isinstance(look_up(kind, "__iter__"), FunctionType):
            return iterable
        steps = iter(iterable)
        return self.touch_steps(site, steps) if type(steps) in ITERATORS else steps

    def touch_unpacked(self, site: int, value: Any) -> Any:
        """Announce that what a loop or a block was given is unpacked; a tuple, as most often, does not change."""
        return value if type(value) is tuple else self.touch_value(site, value)

    def touch_delegated(self, site: int, value: Any) -> Any:
        """Announce each step of what a generator yields from; what one may send to is itself announced, once."""
        if type(value) in _STEPPED or container(type(value)) is not None:
            return self.touch_steps(site, value)
        return self.touch_value(site + 1, value)

    def touch_async_steps(self, site: int, iterable: Any) -> Any:
        """Announce each step of an asynchronous loop, right before it is begun."""
        points, kind = self._points, type(iterable)
        if self._kernel is None or points is None or step_of(kind) is None:
            return iterable
        if points.effects.use(site, SITES[site], kind) is None:
            return iterable
        return AsyncSteps(iterable, functools.partial(self._async_step, self._shown(site + 1, iterable), site))

    def _async_step(self, shown: Uses, site: int, steps: Any) -> None:
        """Announce the same, and that the coroutine whose loop it is still runs: it may wait for what comes."""
        running = self._running_in(sys._getframe(1))
        self._step([*shown, *((site, part) for part in running)], site, steps)

    def _step(self, shown: Uses, site: int, steps: Any) -> None:
        """Announce a step of an iterator or a view, and that what it shows is read."""
        if self._company is not None:
            self._together(self._company, lambda: [(site, steps), *shown])

    # Code that runs for a while

    def touch_inside(self, site: int, value: Any = None, *owner: Any) -> Any:
        """Announce that a generator, or a function behind a cache, is in the middle of what its caller asked for.

        Args:
            value: what is yielded, or returned.
            owner: the object whose method it is.
        """
        if self._company is not None:
            frame = sys._getframe(1)
            is_generator = frame.f_code.co_flags & _GENERATORS
            running = self.generators.of(frame) if is_generator else frame.f_code
            used = (running, *owner, *self._running_in(frame.f_back))
            self._together(self._company, lambda: [(site, part) for part in used])
        return value

    def touch_next(self, site: int, steps: Any) -> Any:
        """Announce a step of an iterator."""
        self._use(site, steps, ())
        return steps

    def touch_later(self, value: Any) -> Any:
        """Let what uses a generator later announce that."""
        return value if self._kernel is None else announced(value, self.change)

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


_SECOND = operator.itemgetter(1)


def hooks_of(tracker: Tracker) -> dict[str, Callable[..., Any]]:
    """Return what rewritten code calls, by the name that it has there."""
    special: dict[str, Any] = {"getitem": operator.getitem, "setitem": operator.setitem}
    found: dict[str, Any] = {name: getattr(operator, name) for name in (*GROWS, *PLAIN)} | special
    found |= {name: getattr(tracker, name) for name in HOOKS if name not in found}
    return {hook_name(name): function for name, function in found.items()}
