"""A violation on real processes, cut down from their recordings to a trace of a few tasks, which replays under control.

recordings ─► suspects, each with its order of regions ─┐
                                                        ├─► explored along it ─► beside it ─► confirmed, shrunk
defect, or the reference ─► scenarios it can show in ───┘
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from omni_ipc import scenarios
from omni_ipc.conformance.recordings.sessions import Session
from omni_ipc.conformance.recordings.sessions import load as load_recordings
from omni_ipc.errors import Inconclusive, UnknownName, UsageError
from omni_ipc.records import Report, Trace, Verdict
from omni_ipc.report.text import counted
from omni_ipc.scenarios import DEFECTS, SCENARIOS, Scenario
from omni_ipc.testbed.guiding import explore_along
from omni_ipc.workflows.exploring import explore_scenario
from omni_ipc.workflows.free_names import free_name
from omni_ipc.workflows.suspects import Suspect, suspects

SECONDS = 30.0

_ALONG = 0.5  # of the time: for the orders that were recorded; the rest is for others


class Reduced(msgspec.Struct, frozen=True):
    """What recordings were cut down to.

    Args:
        trace: where it lies; ``unsaved``: why it does not.
        along: whether it was found along an order that was recorded, or near it; else, in the same scenario.
        suspects: what was tried to follow, the likeliest first.
    """

    verdict: Verdict
    summary: str
    suspects: tuple[Suspect, ...]
    scenario: str | None = None
    defect: str | None = None
    trace: str | None = None
    unsaved: str | None = None
    along: bool = False
    schedules: int = 0


Progress = Callable[[str], object]
"""Called with what is being done."""


def reduce_recordings(
    paths: Sequence[Path],
    *,
    to: Path,
    defect: str | None = None,
    requests: Collection[str] = (),
    seconds: float = SECONDS,
    seed: int = 0,
    progress: Progress = lambda _: None,
) -> Reduced:
    """Look for what went wrong in recordings, and for the same in a scenario; save the trace of that.

    Args:
        to: folder for the trace; another one that lies there stays.
        defect: that the processes had; without one, the reference is tried in all scenarios.
        requests: the clients' names of those that are known to be concerned.
        seconds: to look for it, at most.

    Raises:
        UsageError: there is no recording, or a file is none; or there is no such defect.
        Inconclusive: a recording is damaged, or nothing was recorded that can be followed.
    """
    if not seconds > 0:
        raise UsageError(f"seconds must be positive, and is {seconds:g}. Leave it out for {SECONDS:g}.")
    tried = [*_scenarios(defect)]
    progress("reading recordings")
    suspected = _suspected(load_recordings(paths), requests)
    begun_s, schedules = time.monotonic(), 0
    for report, along in _explored(tried, suspected, defect, seconds, seed, progress):
        schedules += report.schedules
        if report.trace is not None:
            return _found(report, report.trace, suspected, to, along=along, schedules=schedules)
    names = ", ".join(scenario.name for scenario in tried) if len(tried) < 4 else counted(len(tried), "scenario")
    return Reduced(
        Verdict.INCONCLUSIVE,
        f"What was recorded fails in none of {names}: {schedules:,} schedules in {time.monotonic() - begun_s:.0f} s. "
        "Keep the recordings, and look at the order of the first suspect.",
        tuple(suspected),
        defect=defect,
        schedules=schedules,
    )


def _scenarios(defect: str | None) -> Iterator[Scenario]:
    """Give those in which it may show, its own first."""
    if defect is None:
        yield from SCENARIOS.values()
        return
    if defect not in DEFECTS:
        raise UnknownName("defect", defect, DEFECTS)
    for name in (DEFECTS[defect].scenario, *DEFECTS[defect].also):
        yield scenarios.find(name)


def _suspected(sessions: Sequence[Session], requests: Collection[str]) -> list[Suspect]:
    found = [suspect for session in sessions for suspect in suspects(session, requests=requests)]
    if not found:
        raise Inconclusive(
            "No output was computed in what was recorded, so that there is no order to follow. Record a longer run."
        )
    return found


def _explored(
    tried: Sequence[Scenario],
    suspected: Sequence[Suspect],
    defect: str | None,
    seconds: float,
    seed: int,
    progress: Progress,
) -> Iterator[tuple[Report, bool]]:
    """Explore along what was recorded, scenario by scenario; and then, if it is known to fail, beside it."""
    orders = [suspect.order for suspect in suspected]
    share = _ALONG if defect is not None else 1.0
    for scenario in tried:
        progress(f"{scenario.name}: along {counted(len(orders), 'order')}")
        with contextlib.suppress(Inconclusive):
            yield _along(scenario, orders, defect, seconds * share / len(tried), seed), True
    for scenario in tried if defect is not None else ():
        progress(f"{scenario.name}: other orders")
        left = seconds * (1 - share) / len(tried)
        yield explore_scenario(scenario.name, defect=defect, seconds=left, seed=seed), False


def _along(
    scenario: Scenario, orders: Sequence[Sequence[str]], defect: str | None, seconds: float, seed: int
) -> Report:
    parts = scenario.parts(defect)
    return explore_along(
        lambda rt: scenario.world(rt, parts).run(),
        orders,
        name=scenario.name,
        defect=defect,
        transparent=scenario.transparent,
        declared=True,
        seconds=seconds,
        seed=seed,
    )


def _saved(trace: Trace, to: Path) -> Path:
    """Save a trace, in place of none but one that shows the same."""

    def shown(by: Trace) -> tuple[list[str], str]:
        return [*map(str, by.steps)], str(by.failure)

    def is_same(path: Path) -> bool:
        with contextlib.suppress(UsageError):  # it is no trace
            return shown(Trace.load(path)) == shown(trace)
        return False

    return trace.save(free_name(to / f"{trace.scenario}.{trace.defect or 'reference'}.trace.json", same=is_same))


def _found(
    report: Report, trace: Trace, suspected: Sequence[Suspect], to: Path, *, along: bool, schedules: int
) -> Reduced:
    path, unsaved = None, None
    try:
        path = str(_saved(trace, to))
    except UsageError as error:  # what was found is no less so
        unsaved = str(error)
    how = "along what was recorded" if along else "in other orders than were recorded"
    return Reduced(
        Verdict.VIOLATED,
        f"{trace.scenario} fails {how}, within {counted(len(trace.steps), 'step')}: {report.failure}",
        tuple(suspected),
        scenario=trace.scenario,
        defect=trace.defect,
        trace=path,
        unsaved=unsaved,
        along=along,
        schedules=schedules,
    )
