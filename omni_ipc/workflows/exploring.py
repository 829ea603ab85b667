"""Scenarios under the explorer: those of the table by name, and a user's own by file and function."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from omni_ipc import scenarios
from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import MemoryOrder, Report, Trace
from omni_ipc.testbed import Progress, explore
from omni_ipc.testbed.faults import Timers, parse

Function = Callable[..., object]


def explore_scenario(
    name: str,
    *,
    defect: str | None = None,
    strategy: str = "depth-first",
    runs: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    memory: str = MemoryOrder.SC,
    faults: Sequence[str] = (),
    timers: str = Timers.VIRTUAL,
    first: Sequence[Trace] = (),
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Explore a scenario of the table, or ``path/to/file.py:function``.

    Raises:
        UsageError: the name, the defect, the strategy, the memory order, a fault or a budget is wrong.
    """
    function, transparent = resolve(name, defect)
    return explore(
        function,
        name=name,
        defect=defect,
        strategy=strategy,
        runs=runs,
        seconds=seconds,
        seed=seed,
        memory=memory,
        faults=[parse(fault) for fault in faults],
        timers=timers,
        first=first,
        transparent=transparent,
        declared=":" not in name,  # a world's tasks share the watched table, and notes that only its judge reads
        progress=progress,
    )


def resolve(name: str, defect: str | None) -> tuple[Function, tuple[str, ...]]:
    """Give the function to run under control, and the regions that are not steps of their own in it."""
    if ":" in name:
        if defect is not None:
            raise UsageError(
                f"'{name}' is a function of yours; --defect is for the scenarios of the table. Leave it out."
            )
        return load_function(name), ()
    scenario = scenarios.find(name)
    parts = scenario.parts(defect)
    return lambda rt: scenario.world(rt, parts).run(), scenario.transparent


def load_function(target: str) -> Function:
    """Import ``path/to/file.py:function``.

    Raises:
        UsageError: there is no such file or function, or the file cannot be imported; says where it fails. Or Python
            leaves out assert statements, and so what a scenario claims.
    """
    if not __debug__:
        raise UsageError(
            f"Python runs with -O or PYTHONOPTIMIZE, and so without the assert statements of '{target}': whatever they "
            "claim would hold. Run it without: env -u PYTHONOPTIMIZE omni-ipc ..."
        )
    file, _, name = target.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"There is no file '{file}'. Give path/to/file.py:function, as seen from {Path.cwd()}.")
    module_name = f"scenario:{path.stem}"  # shadows no module
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"'{file}' is no Python file. Give path/to/file.py:function.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look themselves up by it
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"'{file}' cannot be imported: {type(error).__name__}: {error}. {_last_line(error, path)}"
        ) from None
    finally:
        sys.path.pop(0)
    function: Function | None = getattr(module, name, None)
    if not callable(function):
        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UnknownName(f"function in '{file}' called", name, functions)
    return function


def _last_line(error: BaseException, path: Path) -> str:
    """Say at which line of the user's file an import failed."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}:{line}" if line else str(path)
