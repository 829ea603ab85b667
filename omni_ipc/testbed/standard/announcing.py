"""Accesses to what the standard library keeps for the whole process, and no line names; what a run changes of it.

Each is announced with the attributes that it is about: `instrument` makes a point of it once some run has shown that
tasks share them, and one of them changes them. What a run has changed is put back when it has ended.
"""

from __future__ import annotations

import functools
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.redirecting import Method, Redirect
from omni_ipc.testbed.standard.world import running

Part = tuple[Any, str]
"""An object, or a module, that keeps something, and the attribute that has it."""

Telling = Callable[[], Iterable[Part]]
"""Tells what an access is about: anew when its turn has come."""

CONTENT = ""
"""Stands for an attribute: the object itself is changed."""

_OF_MODULES = {
    "sys": (),  # streams are led back in any case
    "warnings": ("filters", "showwarning", "_showwarnmsg_impl"),
    "logging": ("_warnings_showwarning",),
}
_STRUCTURE = {"parent", "manager", "lock", "_cache"}
"""Attributes of loggers and handlers that are as others need them, or follow from the rest."""

_ENVIRONMENT: Any = os.environ
_SAVED: WeakKeyDictionary[Kernel, set[int]] = WeakKeyDictionary()
"""By run, what it has changed."""


def announce(kernel: Kernel, parts: Telling, *, changes: bool = False) -> None:
    """Announce an access; not under the lock of `logging`, where nobody else comes in: that is a part of one."""
    if changes:
        for keeper, _ in parts():
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


def save(kernel: Kernel, keeper: Any) -> None:
    """Let something be as it is now when the run has ended, unless that was seen to before."""
    saved = _SAVED.setdefault(kernel, set())
    if id(keeper) not in saved:
        saved.add(id(keeper))
        kernel.closers.append(_put_back(keeper))


def _put_back(keeper: Any) -> Callable[[], None]:
    if keeper is _ENVIRONMENT:
        return functools.partial(_put_environment_back, dict(keeper._data))  # to ask the whole would announce it
    known = _OF_MODULES[keeper.__name__] if isinstance(keeper, ModuleType) else None
    values = _named(keeper, known)
    items = [(value, list(value)) for value in values.values() if isinstance(value, list)]

    def put_back() -> None:
        for name in _named(keeper, known).keys() - values.keys():
            delattr(keeper, name)
        vars(keeper).update(values)
        for value, content in items:
            value[:] = content
        if keeper is warnings:
            warnings._filters_mutated()
        logging.root.manager._clear_cache()  # type: ignore[attr-defined]

    return put_back


def _named(keeper: Any, names: Iterable[str] | None) -> dict[str, Any]:
    return {name: vars(keeper)[name] for name in (vars(keeper).keys() - _STRUCTURE if names is None else names)}


def _put_environment_back(before: dict[Any, Any]) -> None:
    for name in _ENVIRONMENT._data.keys() - before.keys():
        del _ENVIRONMENT[_ENVIRONMENT.decodekey(name)]
    for name, value in before.items():
        if _ENVIRONMENT._data.get(name) != value:
            _ENVIRONMENT[_ENVIRONMENT.decodekey(name)] = _ENVIRONMENT.decodevalue(value)
