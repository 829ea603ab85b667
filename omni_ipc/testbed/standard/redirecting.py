"""How names of the standard library are led to what is under control.

A function is replaced where it is looked up, and where code under test has bound it. A class stays: what it makes for
code under test turns into a look-alike of the same class, so that ``isinstance``, subclasses and names bound long
before are as ever. An instance of a *subclass* runs the standard library's own code, over locks under control.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from omni_ipc.testbed.standard.doors import Door
from omni_ipc.testbed.standard.world import WORLD, asks, is_of_collector, running

Method = Callable[..., Any]


class Redirect(NamedTuple):
    """One name.

    Args:
        owner: a module or a class.
        by: makes the replacement, given what is replaced.
    """

    owner: Any
    name: str
    by: Callable[[Any], Any]


def calls(owner: Any, **functions: Method) -> Iterator[Redirect]:
    """Let code under test call ``function(kernel, ...)``."""
    for name, function in functions.items():
        yield Redirect(owner, name, _led_to(function, running, asks))


def answers(owner: Any, **functions: Method) -> Iterator[Redirect]:
    """Let whoever runs in a task, be it a library, be answered by ``function(kernel, ...)``."""
    for name, function in functions.items():
        yield Redirect(owner, name, _led_to(function, running, _is_no_collector))


def makers(owner: Any, **functions: Method) -> Iterator[Redirect]:
    """Let code under test get what ``function(kernel, ...)`` makes."""
    for name, function in functions.items():

        def by(original: Any, function: Method = function) -> Any:
            if isinstance(original, type):
                return Door(original, function)
            return _led_to(function, WORLD.maker, asks)(original)

        yield Redirect(owner, name, by)


def _led_to(function: Method, which: Callable[[], Any], may: Callable[[Any], bool]) -> Callable[[Method], Method]:
    def by(original: Method) -> Method:
        @functools.wraps(original)
        def redirected(*args: Any, **options: Any) -> Any:
            kernel = which()
            if kernel is None or not may(sys._getframe(1)):
                return original(*args, **options)
            try:
                return function(kernel, *args, **options)
            except TypeError:
                original(*args, **options)  # tells in its own words what is wrong with its arguments
                raise

        return redirected

    return by


def _is_no_collector(frame: Any) -> bool:
    return not is_of_collector(frame)


def turns(kind: type, into: Any, unless: Callable[..., bool] | None = None) -> Redirect:
    """Let what code under test makes of a class turn into a look-alike; what it may not be made of, the class tells.

    Args:
        unless: tells by the arguments what the standard library's own code suits better.
    """

    def by(original: Method) -> Method:
        @functools.wraps(original)
        def initialize(self: Any, *args: Any, **options: Any) -> None:
            kernel = WORLD.maker() if type(self) is kind else None
            if kernel is None or not asks(sys._getframe(1)) or (unless and unless(*args, **options)):
                return original(self, *args, **options)  # type: ignore[no-any-return]
            self.__class__ = into
            try:
                into.__init__(self, kernel, *args, **options)
            except TypeError:
                self.__class__ = kind
                original(self, *args, **options)  # tells it in its own words
                raise

        return initialize

    return Redirect(kind, "__init__", by)
