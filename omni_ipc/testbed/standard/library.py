"""What code uses by calls that do not name it: standard streams, filters of warnings, loggers, the environment.

``print()`` looks up ``sys.stdout``, ``warnings.warn()`` the filters, and a logger its level and those above it.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import os
import pprint
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from omni_ipc.testbed.standard.announcing import FILLED, Part, announce, announcing, of
from omni_ipc.testbed.standard.loggers import LOGGERS
from omni_ipc.testbed.standard.redirecting import Method, Redirect
from omni_ipc.testbed.standard.world import running

_FILTERS = (warnings, "filters")
_ENVIRONMENT = (os.environ, "_data")


def _written(name: str, *_: object) -> Iterator[Part]:
    """Tell of a standard stream; what it is led away to can be read."""
    yield sys, name
    if isinstance(stream := getattr(sys, name), io.StringIO):
        yield stream, FILLED


_output = functools.partial(_written, "stdout")
_errors = functools.partial(_written, "stderr")


def _warned(*_: object) -> Iterator[Part]:
    """Tell of what a warning is judged by, and where it goes: into a list, if they are recorded."""
    yield _FILTERS
    yield warnings, "showwarning"
    recorded = getattr(warnings._showwarnmsg_impl, "__self__", None)  # type: ignore[attr-defined]
    yield from _errors() if recorded is None else [(recorded, FILLED)]


def _led_away(block: Any) -> Iterator[Part]:
    yield sys, block._stream


def _warning(original: Method) -> Method:
    @functools.wraps(original)
    def announced(message: Any, category: Any = None, stacklevel: int = 1, *args: Any, **options: Any) -> None:
        if (kernel := running()) is not None:
            announce(kernel, _warned)
        prefixes = options.get("skip_file_prefixes") or ()
        level = max(stacklevel, 2 if prefixes else 1)
        caller = sys._getframe(1).f_code.co_filename
        if not caller[:-1].startswith(prefixes):  # as C compares it; one that is skipped is no level
            level += 1  # as it is called from here
        original(message, category, level, *args, **options)

    return announced


LIBRARY: tuple[Redirect, ...] = (
    *announcing(builtins, "print", _output, unless="file"),
    *announcing(pprint, "pprint pp", _output, unless="stream"),
    *announcing(
        traceback, "print_tb print_exception print_exc print_last print_stack print_list", _errors, unless="file"
    ),
    *announcing(contextlib._RedirectStream, "__enter__ __exit__", _led_away, changes=True),
    Redirect(warnings, "warn", _warning),
    *announcing(warnings, "warn_explicit", _warned),
    *announcing(warnings, "simplefilter filterwarnings resetwarnings", of(_FILTERS), changes=True),
    *announcing(warnings.catch_warnings, "__enter__ __exit__", of(_FILTERS, (warnings, "showwarning")), changes=True),
    *announcing(os._Environ, "__getitem__ __iter__ __len__", of(_ENVIRONMENT)),
    *announcing(os._Environ, "__setitem__ __delitem__", of(_ENVIRONMENT), changes=True),
    *LOGGERS,
)
