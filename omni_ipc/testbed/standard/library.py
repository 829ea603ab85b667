"""What the standard library keeps for the whole process, and code uses by calls that do not name it.

``print()`` looks up ``sys.stdout``, ``warnings.warn()`` the filters, and a logger its level and those above it. Each
such call is an access to the module, or the object, that keeps them: `instrument` makes a point of it once some run has
shown that tasks share it, and one of them changes it. What a run has changed is put back when it has ended.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.redirecting import Method, Redirect
from omni_ipc.testbed.standard.world import running

_LOGGERS = logging.root.manager  # keeps what all of them have in common
_OF_MODULES = {"sys": ("stdin", "stdout", "stderr"), "warnings": ("filters", "showwarning", "_showwarnmsg_impl")}
_SAVED: WeakKeyDictionary[Kernel, set[int]] = WeakKeyDictionary()
"""By run, what it has changed."""


def _announce(*keepers: object, changes: bool, within: bool = False) -> None:
    """Announce an access to what keeps something.

    Args:
        within: it is a part of what was announced, and under a lock of the library's own, where nobody else comes in.
    """
    kernel = running()
    if kernel is None or kernel.over:
        return
    for keeper in keepers:
        if changes:
            _save(kernel, keeper)
        if kernel.library is not None and not within:
            kernel.library(keeper, changes)


def _save(kernel: Kernel, keeper: object) -> None:
    """Let it be as it is now when the run has ended, unless that was seen to before."""
    saved = _SAVED.setdefault(kernel, set())
    if id(keeper) in saved:
        return
    saved.add(id(keeper))
    names = _OF_MODULES[keeper.__name__] if isinstance(keeper, ModuleType) else tuple(vars(keeper))
    values = {name: getattr(keeper, name) for name in names}
    items = [(value, list(value)) for value in values.values() if isinstance(value, list)]

    def put_back() -> None:
        vars(keeper).update(values)
        for value, content in items:
            value[:] = content
        warnings._filters_mutated()  # type: ignore[attr-defined]
        _LOGGERS._clear_cache()  # type: ignore[attr-defined]

    kernel.closers.append(put_back)


def _announcing(owner: Any, names: str, announce: Method) -> Iterator[Redirect]:
    """Functions, or methods, whose arguments something is called with before they are."""

    def by(original: Method) -> Method:
        @functools.wraps(original)
        def announced(*args: Any, **options: Any) -> Any:
            announce(*args)
            return original(*args, **options)

        return announced

    for name in names.split():
        yield Redirect(owner, name, by)


def _uses(owner: Any, names: str, keeper: object, *, changes: bool = False) -> Iterator[Redirect]:
    """Functions, or methods, that use what one module, or object, keeps."""
    return _announcing(owner, names, lambda *_: _announce(keeper, changes=changes))


def _logs(owner: type, names: str, *, changes: bool = False) -> Iterator[Redirect]:
    """Methods that use a logger, or a handler, and what all loggers have in common."""

    def announce(logger: Any, *_: Any) -> None:
        within = changes and sys._getframe(2).f_globals.get("__name__") == logging.__name__
        _announce(logger, _LOGGERS, changes=changes, within=within)

    return _announcing(owner, names, announce)


def _printing(original: Method) -> Method:
    @functools.wraps(original)
    def announced(*args: Any, **options: Any) -> None:
        if options.get("file") is None:
            _announce(sys, changes=False)
        original(*args, **options)

    return announced


def _warning(original: Method) -> Method:
    @functools.wraps(original)
    def announced(message: Any, category: Any = None, stacklevel: int = 1, *args: Any, **options: Any) -> None:
        _announce(warnings, changes=False)
        least = 2 if options.get("skip_file_prefixes") else 1
        original(message, category, max(stacklevel, least) + 1, *args, **options)  # one more, as it is called from here

    return announced


LIBRARY: tuple[Redirect, ...] = (
    Redirect(builtins, "print", _printing),
    *_uses(contextlib._RedirectStream, "__enter__ __exit__", sys, changes=True),
    Redirect(warnings, "warn", _warning),
    *_uses(warnings, "warn_explicit", warnings),
    *_uses(os, "getenv getenvb", os.environ),
    *_uses(os.path, "expandvars expanduser", os.environ),
    *_uses(warnings, "simplefilter filterwarnings resetwarnings", warnings, changes=True),
    *_uses(warnings.catch_warnings, "__enter__ __exit__", warnings, changes=True),
    *_uses(logging, "disable basicConfig captureWarnings", _LOGGERS, changes=True),
    *_logs(logging.Logger, "isEnabledFor getEffectiveLevel hasHandlers callHandlers"),
    *_logs(logging.Logger, "setLevel addHandler removeHandler", changes=True),
    *_logs(logging.Filterer, "addFilter removeFilter", changes=True),
    *_logs(logging.Handler, "setLevel setFormatter", changes=True),
)
