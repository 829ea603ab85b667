"""Finds the function that a name stands for, and a name for a function: so another process can be given a scenario.

``path/to/file.py:function`` is a function of a file, ``package.module:function`` one of a module.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.testbed.brief import say_error

Function = Callable[..., Any]

_OF_A_FILE = "scenario:"  # shadows no module


def load(target: str) -> Function:
    """Import a function.

    Raises:
        UsageError: there is no such file, module or function, or it cannot be imported; says where it fails. Or Python
            leaves out assert statements, and so what a scenario claims.
    """
    if not __debug__:
        raise UsageError(
            f"Python runs with -O or PYTHONOPTIMIZE, and so without the assert statements of '{target}': whatever they "
            "claim would hold. Run it without: env -u PYTHONOPTIMIZE omni-ipc ..."
        )
    if "::" in target:
        raise UsageError(
            f"'{target}' is a test, and run by pytest, which explores what is marked with pytest.mark.interleave: "
            f"pytest '{target}'. With --omni-replay FILE.trace.json it replays a trace instead."
        )
    place, _, name = target.rpartition(":")
    module = _load_file(place) if place.endswith(".py") or Path(place).is_file() else _load_module(place)
    function: Any = module
    owner: Any = None
    for part in name.split("."):
        owner, function = function, getattr(function, part, None)
    if isinstance(owner, type) and inspect.isfunction(inspect.getattr_static(owner, part, None)):
        raise UsageError(
            f"'{name}' is a method, and needs a {owner.__name__}. Give a function that makes one, and calls it."
        )
    if not callable(function):
        raise UnknownName(f"function in '{place}' called", name, _scenarios(module))
    return function  # type: ignore[no-any-return]


def _scenarios(module: ModuleType) -> list[str]:
    """Name the functions that a module has of its own."""
    own = {key: value for key, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    return [key for key, value in own.items() if not isinstance(value, type) and not key.startswith("_")]


def name_of(function: object) -> str:
    """Return the name under which another process finds a function.

    Raises:
        UsageError: there is none.
    """
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    name = getattr(function, "__qualname__", "")
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if module is None or found is not function:
        raise UsageError(
            f"Other processes cannot be given {function!r}: they find it by its name in a module. Make it a function "
            "at the top level of a module, or explore in one process: jobs=1."
        )
    if module.__name__ == "__main__" or module.__name__.startswith(_OF_A_FILE):
        return f"{Path(module.__file__ or '').resolve()}:{name}"
    return f"{module.__name__}:{name}"


def _load_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise UsageError(f"'{name}' cannot be imported: {error}. Install that, or mend the import.") from None
        if "." in name or "/" in name:
            raise _no_file(name) from None
        raise UsageError(f"'{name}' cannot be imported: {error}. Give path/to/file.py:function.") from None
    except (ValueError, TypeError) as error:
        if not name or name.startswith("."):
            raise _no_file(name) from None
        raise _not_imported(name, error) from None
    except (Exception, SystemExit) as error:
        raise _not_imported(name, error) from None


def _not_imported(name: str, error: BaseException) -> UsageError:
    frames = traceback.extract_tb(error.__traceback__)
    return UsageError(f"'{name}' cannot be imported: {say_error(error)}. {frames[-1].filename}:{frames[-1].lineno}")


def _no_file(file: str) -> UsageError:
    return UsageError(f"There is no file '{file}'. Give path/to/file.py:function, as seen from {Path.cwd()}.")


def _load_file(file: str) -> ModuleType:
    path = Path(file)
    if not path.is_file():
        raise _no_file(file)
    module_name = f"{_OF_A_FILE}{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"'{file}' is no Python file. Give path/to/file.py:function.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look themselves up by it
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"'{file}' cannot be imported: {say_error(error)}. {_last_line(error, path)}") from None
    finally:
        sys.path.pop(0)
    return module


def _last_line(error: BaseException, path: Path) -> str:
    """Say at which line of the user's file an import failed."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == os.path.abspath(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}:{line}" if line else str(path)
