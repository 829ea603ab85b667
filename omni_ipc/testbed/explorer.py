"""Explores the schedules of a scenario, and says what that proves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from pathlib import Path

from omni_ipc.machines import Machines
from omni_ipc.records import MemoryOrder, Report, Trace
from omni_ipc.testbed.again import happens_again
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.faults.names import Timers, parsed, with_timers
from omni_ipc.testbed.jobs import explore_in_jobs
from omni_ipc.testbed.loading import name_of
from omni_ipc.testbed.options import Options, several
from omni_ipc.testbed.resuming import Saved
from omni_ipc.testbed.runner import Scenario
from omni_ipc.testbed.search import Search
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
    faults: Sequence[Fault | str] = (),
    timers: str = Timers.VIRTUAL,
    instrument: Collection[str] = (),
    first: Sequence[Trace] = (),
    jobs: int = 1,
    on: Machines | None = None,
    resume: Path | None = None,
    found_as: Sequence[str | None] = (),
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
        faults: what may go wrong in a schedule, at any step; values, or their names: "kill:worker"; see `faults`.
        timers: a `Timers`: whether timeouts may fire while tasks can go on.
        instrument: names of modules and packages ("vendor.pump", "vendor.*") that get a point at each access to state
            that tasks share; so does the module of a scenario that takes no runtime.
        first: failures of the scenario that were found earlier (see `saved`): if one still happens, under these faults
            and timers, that is the answer.
        jobs: processes that explore together. The scenario must be found by its name in a module, and its file must not
            explore when it is imported.
        on: machines that the jobs run on; then by default as many as there are places. They find the scenario as this
            process does.
        resume: folder to save the exploration in, and to go on from if there is one of the same scenario and options;
            ``runs`` count from its beginning, ``seconds`` from now.
        found_as: how other processes find the scenario, if not by its name: see `explore_in_jobs`.
        progress: called from time to time.

    Raises:
        UsageError: the scenario is no function of at most one argument, or a budget is not positive.
        UnknownName: there is no such strategy, or no such memory order.
    """
    given = parsed(several("faults", faults))
    options = Options(
        name=name or str(getattr(scenario, "__name__", "scenario")),
        strategy=strategy,
        runs=runs,
        seconds=seconds,
        seed=seed,
        transparent=tuple(transparent),
        memory=memory,
        defect=defect,
        max_steps=max_steps,
        declared=declared,
        faults=tuple(map(str, given)),
        timers=timers,
        instrument=several("instrument", instrument),
        jobs=len(on) if on is not None and jobs == 1 else jobs,
    ).check(None if on is None else len(on))
    possible = with_timers(given, timers)
    again = happens_again(scenario, first, faults=possible, transparent=transparent, max_steps=max_steps)
    if again is not None:
        return again
    if jobs > 1 or on is not None:
        return explore_in_jobs(found_as or (name_of(scenario),), options, on=on, resume=resume, progress=progress)
    return conduct(scenario, options, faults=given, resume=resume, progress=progress)[1]


def conduct(
    scenario: Scenario,
    options: Options,
    *,
    faults: Sequence[Fault] | None = None,
    points: Collection[str] = (),
    resume: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Search, Report]:
    """Explore in this process.

    Args:
        faults: as values, if they are more than their names.
        points: accesses that other processes have found to be points.
    """
    if faults is None:
        faults = parsed(options.faults)
    faults = with_timers(faults, options.timers)
    saved = None if resume is None else Saved(resume, scenario, options)
    known = set(saved.points if saved else ())
    search = Search(
        options.runner(scenario, faults, known | set(points)),
        options.subject(faults),
        options.make_strategy,
        options.budget,
        progress,
        saved.keep if saved else None,
    )
    if saved is not None and known.issuperset(points):  # or what was run did not have all steps
        saved.restore(search)
    with saved.interruptible() if saved else nullcontext(), search.runner:
        return search, search.report()
