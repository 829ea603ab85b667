"""Explores the schedules of a scenario, and says what that proves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import MemoryOrder, Report, Trace
from omni_ipc.testbed.again import happens_again
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.faults.names import Timers, with_timers
from omni_ipc.testbed.runner import Runner, Scenario
from omni_ipc.testbed.search import Budget, Search, Subject
from omni_ipc.testbed.strategies import STRATEGIES
from omni_ipc.testbed.tally import Progress


def explore(
    scenario: Scenario,
    *,
    name: str | None = None,
    strategy: str = "portfolio",
    runs: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    transparent: Collection[str] = (),
    memory: str = MemoryOrder.SC,
    defect: str | None = None,
    max_steps: int = 10_000,
    declared: bool = False,
    faults: Sequence[Fault] = (),
    timers: str = Timers.VIRTUAL,
    instrument: Collection[str] = (),
    first: Sequence[Trace] = (),
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Run a scenario under schedule after schedule, until one fails, none is left, or a budget is used up.

    "holds" means: every schedule was run, up to the order of steps that do not conflict, and none failed. Timeouts fire
    only when no task can go on, unless timers are explored, and nothing goes wrong but the faults that are given. Steps
    conflict on the runtime's objects and on watched ones, and where code is instrumented. If tasks are found to share
    other state (see `sharing`), nothing is left out, and the report says so. "bounded" means that not all was run; the
    report says what was.

    Args:
        name: of the scenario in the report; by default that of the function.
        strategy: a key of `STRATEGIES`.
        runs: schedules to run at most, at least 1; if neither runs nor seconds are given, the portfolio spends 20,000
            and what samples 2,000.
        seconds: real time to spend at most, over 0.
        seed: of a random strategy.
        transparent: regions that are no steps of their own; see `ControlledRuntime`.
        memory: a `MemoryOrder`: when other tasks see what one has stored in shared words.
        defect: name of the defect that the scenario was given, for the trace.
        max_steps: steps after which a schedule counts as a livelock.
        declared: vouch for it that what tasks share beside the runtime's objects and watched ones does not matter.
        faults: what may go wrong in a schedule, at any step; see `faults`.
        timers: a `Timers`: whether timeouts may fire while tasks can go on.
        instrument: names of modules and packages ("vendor.pump", "vendor.*") that get a point at each access to state
            that tasks share; so does the module of a scenario that takes no runtime.
        first: failures of the scenario that were found earlier (see `saved`): if one still happens, that is the answer.
        progress: called from time to time.

    Raises:
        UsageError: the scenario is no function of at most one argument, or a budget is not positive.
        UnknownName: there is no such strategy, or no such memory order.
    """
    _require_positive("runs", runs)
    _require_positive("seconds", seconds)
    _require_positive("max_steps", max_steps)
    if strategy not in STRATEGIES:
        raise UnknownName("strategy", strategy, STRATEGIES)
    if memory not in list(MemoryOrder):
        raise UnknownName("memory order", memory, list(MemoryOrder))
    if (again := happens_again(scenario, first, transparent=transparent, max_steps=max_steps)) is not None:
        return again
    order = MemoryOrder(memory)
    faults = with_timers(faults, timers)
    runner = Runner(
        scenario,
        transparent=transparent,
        max_steps=max_steps,
        memory=order,
        declared=declared,
        faults=faults,
        instrument=instrument,
    )
    subject = Subject(
        scenario=name or str(getattr(scenario, "__name__", "scenario")),
        defect=defect,
        memory=order,
        faults=tuple(str(fault) for fault in faults),
    )
    search = Search(runner, subject, lambda: STRATEGIES[strategy](seed), Budget(runs, seconds), progress)
    with runner:
        return search.report()


def _require_positive(name: str, value: float | None) -> None:
    if value is not None and not value > 0:
        raise UsageError(f"{name} must be positive, and is {value}. Leave it out for no limit.")
