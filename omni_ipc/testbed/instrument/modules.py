"""The modules under test: named by the user, found, and what of them cannot be instrumented."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from omni_ipc.errors import UsageError
from omni_ipc.testbed.brief import say_error
from omni_ipc.testbed.standard.world import TRUSTED
from omni_ipc.testbed.where import is_ours

_CONTROLLED = frozenset({"_thread", "asyncio", "concurrent", "contextvars", "queue", "threading", "time"})


class Subject:
    """A module that is to be instrumented.

    Attributes:
        file: as its code objects name it.
        source: its text.
    """

    def __init__(self, module: ModuleType, file: str, source: str) -> None:
        self.module = module
        self.name = module.__name__
        self.file = file
        self.source = source


def find_modules(names: Iterable[str]) -> tuple[list[ModuleType], dict[str, str]]:
    """Import modules by name; ``vendor.*``, and a package's name, stand for all modules in it.

    Returns:
        The modules, and for those of a package that are left out, the reason.

    Raises:
        UsageError: one that is named cannot be found or imported.
    """
    found: dict[str, ModuleType] = {}
    left_out: dict[str, str] = {}
    for name in names:
        _refuse_foundations(name.removesuffix(".*"))
        module = _import(name.removesuffix(".*"))
        found[module.__name__] = module
        for inner in _inside(module):
            try:
                found[inner] = importlib.import_module(inner)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # whatever somebody else's module does when it is imported
                left_out[inner] = f"it cannot be imported: {say_error(error)}"
    return list(found.values()), left_out


def _refuse_foundations(name: str) -> None:
    """Refuse what the explorer stands on."""
    first = name.partition(".")[0]
    if first in _CONTROLLED:
        raise UsageError(f"Cannot instrument '{name}': all of '{first}' is under control as it is. Leave it out.")
    if first in TRUSTED:
        raise UsageError(
            f"Cannot instrument '{name}': '{first}' keeps its locks to itself, and is let be. Leave it out; what it "
            "does is one step to the explorer."
        )


def _import(name: str) -> ModuleType:
    if not name or name.startswith("."):
        raise UsageError(f"Cannot instrument '{name}': that names no module. Give a whole name, as vendor.pump.")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and not name.startswith(error.name):
            raise UsageError(
                f"Cannot instrument '{name}': it needs '{error.name}', which is not installed. Install that, "
                f"for example with: pip install {error.name.partition('.')[0]}"
            ) from None
        raise UsageError(
            f"Cannot instrument '{name}': there is no such module on sys.path. Check its name with: "
            f'python -c "import {name}"'
        ) from None
    except SyntaxError as error:
        raise UsageError(
            f"Cannot instrument '{name}': it does not parse: {error.msg} ({error.filename}:{error.lineno}). Mend it, "
            "or leave it out."
        ) from None
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"Cannot instrument '{name}': importing it fails: {type(error).__name__}: {error}. Mend it, or leave it "
            "out of what is instrumented."
        ) from None


def _inside(package: ModuleType) -> Iterator[str]:
    """Name the modules of a package, at any depth; those that only start a program are let be."""
    for found in pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}.", onerror=_pass_over):
        if not found.name.endswith("__main__"):
            yield found.name


def _pass_over(name: str) -> None:
    """Leave it to the import of that package to say what is wrong with it."""


def subject_of(module: ModuleType) -> Subject:
    """Find the source of a module.

    Raises:
        UsageError: there is none that could be rewritten.
    """
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith((".py", ".pyw")):
        what = "is built into Python" if file is None else f"is no Python source, but '{file}'"
        raise UsageError(
            f"Cannot instrument '{module.__name__}': it {what}. Leave it out; what it does is one step to the explorer."
        )
    if is_ours(file):
        raise UsageError(f"Cannot instrument '{module.__name__}': it is a part of the testbed. Leave it out.")
    try:
        source = read_source(file)
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise UsageError(
            f"Cannot instrument '{module.__name__}': its source '{file}' cannot be read: {error}. Install the package "
            "with its sources, or leave it out."
        ) from None
    return Subject(module, file, source)


def read_source(file: str) -> str:
    """Read a module's source, in the encoding that it says.

    Raises:
        OSError, SyntaxError, UnicodeDecodeError: it cannot be read.
    """
    with tokenize.open(file) as text:
        return text.read()


def home_of(scenario: Callable[..., object]) -> ModuleType | None:
    """Return the module that a scenario is written in, if its source can be had."""
    function: Any = scenario
    while not inspect.isfunction(function):
        wrapped = getattr(function, "func", None) or getattr(function, "__func__", None)
        if wrapped is None:
            wrapped = vars(type(function)).get("__call__")
            if not inspect.isfunction(wrapped):
                return None
        function = wrapped
    function = inspect.unwrap(function)
    module = sys.modules.get(function.__module__)
    return module if module is not None and getattr(module, "__file__", None) == _file(function) else None


def _file(function: Any) -> str | None:
    file: str | None = function.__code__.co_filename
    return file
