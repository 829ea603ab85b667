"""Scenarios under the explorer: those of the table by name, and a user's own by file and function."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from omni_ipc import scenarios
from omni_ipc.errors import UsageError
from omni_ipc.machines import find
from omni_ipc.records import MemoryOrder, Report, Trace, Verdict
from omni_ipc.report.text import counted
from omni_ipc.scenarios import Scenario
from omni_ipc.testbed import Progress, explore
from omni_ipc.testbed.faults import Timers
from omni_ipc.testbed.loading import Function, load
from omni_ipc.testbed.strategies.estimate import told

_UNWALKED = (
    "'{name}' returns a Scenario, which was made, and not run. Walk it along its model: omni-ipc conform {name}; or "
    "let the function say that it returns one, -> Scenario, and it is explored."
)


def explore_scenario(
    name: str,
    *,
    defect: str | None = None,
    strategy: str = "portfolio",
    runs: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    memory: str = MemoryOrder.SC,
    faults: Sequence[str] = (),
    timers: str = Timers.VIRTUAL,
    instrument: Sequence[str] = (),
    first: Sequence[Trace] = (),
    jobs: int = 1,
    on: str | None = None,
    resume: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Explore a scenario of the table, or ``path/to/file.py:function``.

    Args:
        on: machines, by name; see `machines.find`. They see a file at the same path.

    Raises:
        UsageError: the name, the defect, the strategy, the memory order, a fault, a budget or the machines are wrong.
    """
    if on is not None and resume is not None:
        raise UsageError("--resume is for this machine, as each job saves where it runs. Leave out --resume, or --on.")
    function, transparent = resolve(name, defect)
    with contextlib.ExitStack() as until_explored:
        machines = None if on is None else until_explored.enter_context(contextlib.closing(find(on)))
        report = explore(
            function,
            name=name,
            defect=defect,
            strategy=strategy,
            runs=runs,
            seconds=seconds,
            seed=seed,
            memory=memory,
            faults=faults,
            timers=timers,
            instrument=instrument,
            first=first,
            jobs=jobs,
            on=machines,
            resume=resume,
            found_as=(f"{__name__}:{resolve.__name__}", _anywhere(name), defect),
            transparent=transparent,
            declared=":" not in name,  # a world's tasks share the watched table, and notes that only its judge reads
            progress=progress,
        )
    return msgspec.structs.replace(report, reason=_UNWALKED.format(name=name)) if _makes_one(report) else report


def _makes_one(report: Report) -> bool:
    """Tell whether all that a function did was to make a `Scenario`, of which it does not say so."""
    is_one = any(outcome.startswith(f"{Scenario.__name__}(") for outcome in report.outcomes)
    return is_one and report.verdict is Verdict.INCONCLUSIVE


def _anywhere(name: str) -> str:
    """Name a scenario so that it is found from another folder."""
    file, colon, function = name.rpartition(":")
    return f"{Path(file).resolve()}{colon}{function}" if Path(file).is_file() else name


def resolve(name: str, defect: str | None) -> tuple[Function, tuple[str, ...]]:
    """Give the function to run under control, and the regions that are not steps of their own in it."""
    if ":" in name:
        if defect is not None:
            raise UsageError(
                f"'{name}' is a function of yours; --defect is for the scenarios of the table. Leave it out."
            )
        function = load(name)
        if not makes_scenario(function):
            return function, ()
        own = function()
        return lambda rt: own.world(rt, own.parts(None)).run(), own.transparent
    if name.endswith(".py"):
        raise UsageError(f"'{name}' does not say which function of the file is to run. Give {name}:FUNCTION.")
    scenario = scenarios.find(name)
    parts = scenario.parts(defect)
    return lambda rt: scenario.world(rt, parts).run(), scenario.transparent


def makes_scenario(function: Function) -> bool:
    """Tell whether a function is one that makes a `Scenario`, by what it says that it returns."""
    return getattr(function, "__annotations__", {}).get("return") in (Scenario, Scenario.__name__)


def pace(now: Progress) -> str:
    """Say how far an exploration has come, and how fast it goes."""
    rate = f"{now.schedules / now.seconds:,.0f}/s" if now.seconds > 0 else ""
    traces = f"{counted(now.traces, 'distinct trace')}" if now.traces else ""
    left = f"{told(now.left)} left" if now.left is not None and now.left >= 1 else ""
    return " · ".join(filter(None, (counted(now.schedules, "schedule"), rate, traces, left, now.doing)))


def expected(now: Progress) -> int | None:
    """Estimate how many schedules there are in all."""
    return None if now.left is None else round(now.schedules + now.left)
