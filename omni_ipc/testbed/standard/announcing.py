"""Accesses to what the standard library keeps for the whole process, and no line names; what a run changes of it.

Each is announced with the attributes that it is about: `instrument` makes a point of it once some run has shown that
tasks share them, and one of them changes them. What a run has changed is put back when it has ended.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from types import FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.redirecting import Method, Redirect
from omni_ipc.testbed.standard.world import running
from omni_ipc.testbed.where import IMPORTING

Part = tuple[Any, str]
"""An object, or a module, that keeps something, and the attribute that has it."""

Telling = Callable[[], Iterable[Part]]
"""Tells what an access is about: anew when its turn has come."""

CONTENT, FILLED = "content", "more content"
"""Stand for an attribute: it is the content of a list; or something is added, whatever else is only read."""

_NAMES: Sequence[tuple[ModuleType, Sequence[str]]] = (
    (sys, ("stdin", "stdout", "stderr")),
    (warnings, ("showwarning", "formatwarning", "_showwarnmsg_impl")),
    (logging, ("lastResort", "raiseExceptions", "_logRecordFactory", "_loggerClass", "_warnings_showwarning")),
)
"""Variables of modules that any code may set by their names."""

_NAMED = [(vars(module), names, itemgetter(*names)) for module, names in _NAMES]
_STRUCTURE = {"parent", "manager", "lock", "_cache", "_closed"}
"""Attributes of loggers and handlers that are as others need them, follow from the rest, or cannot be undone."""

_ENVIRONMENT: Any = os.environ
_SAVED: WeakKeyDictionary[Kernel, dict[int, object]] = WeakKeyDictionary()
"""By run, what it has changed, and what it has made."""


def announce(kernel: Kernel, parts: Telling, *, changes: bool = False) -> None:
    """Announce an access; not under the lock of `logging`, where nobody else comes in: that is a part of one."""
    if changes:
        for keeper, name in parts():
            if name not in (CONTENT, FILLED):
                save(kernel, keeper)
    if kernel.library is not None and not kernel.over and not logging._lock._is_owned():  # type: ignore[attr-defined]
        kernel.library(parts, changes)


def announcing(
    owner: Any, names: str, parts: Callable[..., Iterable[Part]], *, changes: bool = False, unless: str = ""
) -> Iterator[Redirect]:
    """Functions, or methods, that are announced before they run.

    Args:
        parts: tells by their first argument what they are about.
        unless: an option that names something else to use.
    """

    def by(original: Method) -> Method:
        @functools.wraps(original)
        def announced(*args: Any, **options: Any) -> Any:
            kernel = running()
            if kernel is not None and (not unless or options.get(unless) is None):
                announce(kernel, functools.partial(parts, *args[:1]), changes=changes)
            return original(*args, **options)

        return announced

    for name in names.split():
        yield Redirect(owner, name, by)


def of(*parts: Part) -> Callable[..., Iterable[Part]]:
    """The same parts, whatever the arguments are."""
    return lambda *_: parts


def keep_names(kernel: Kernel) -> None:
    """Let variables of modules be as they are now when the run has ended."""
    before = [values(variables) for variables, _, values in _NAMED]

    def put_back() -> None:
        for (variables, names, values), value in zip(_NAMED, before, strict=True):
            if values(variables) != value:
                variables.update(zip(names, value, strict=True))

    kernel.closers.append(put_back)


def save(kernel: Kernel, keeper: Any) -> None:
    """Let something be as it is now when the run has ended, unless the run made it, or a module is being set up."""
    saved = _SAVED.setdefault(kernel, {})
    if id(keeper) not in saved and not _is_importing():
        saved[id(keeper)] = keeper
        kernel.closers.append(_put_back(keeper))


def spare(kernel: Kernel, made: Any) -> None:
    """Take note that something was made by the run, and is its own."""
    _SAVED.setdefault(kernel, {})[id(made)] = made


def save_new(kernel: Kernel, made: Any) -> None:
    """Let something that the run has made be as it is now for the next one, which finds it there."""
    _SAVED.setdefault(kernel, {}).pop(id(made), None)
    save(kernel, made)


def _is_importing() -> bool:
    """Tell whether a module is being set up: it is so once, in whichever run comes first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != IMPORTING:
        frame = frame.f_back
    return frame is not None


def _put_back(keeper: Any) -> Callable[[], None]:
    if keeper is _ENVIRONMENT:
        return functools.partial(_put_environment_back, dict(keeper._data))  # to ask the whole would announce it
    if keeper is warnings:
        return functools.partial(_put_filters_back, warnings.filters, list(warnings.filters))
    if isinstance(keeper, ModuleType):
        return lambda: None  # its names are kept in any case
    values = {name: value for name, value in vars(keeper).items() if name not in _STRUCTURE}
    items = [(value, list(value)) for value in values.values() if isinstance(value, list)]

    def put_back() -> None:
        for name in vars(keeper).keys() - values.keys() - _STRUCTURE:
            del vars(keeper)[name]
        if getattr(values.get("stream"), "closed", False):
            values["stream"] = None  # a handler of files opens another one
        vars(keeper).update(values)
        for value, content in items:
            value[:] = content
        logging.root.manager._clear_cache()  # type: ignore[attr-defined]

    return put_back


def _put_filters_back(filters: Any, content: list[Any]) -> None:
    warnings.filters = filters
    filters[:] = content
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _put_environment_back(before: dict[Any, Any]) -> None:
    """Do so past its methods: they would tell a run around this one of it."""
    data = _ENVIRONMENT._data
    for name in data.keys() - before.keys():
        del data[name]
        os.unsetenv(name)
    for name, value in before.items():
        if data.get(name) != value:
            data[name] = value
            os.putenv(name, value)
