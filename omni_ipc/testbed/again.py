"""Failures of earlier explorations, tried before a new one begins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from time import perf_counter

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Failure, Report, Trace, Verdict
from omni_ipc.testbed.failures import shape
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.replay import still_failing
from omni_ipc.testbed.runner import Scenario


def happens_again(
    scenario: Scenario,
    traces: Sequence[Trace],
    *,
    faults: Sequence[Fault] = (),
    transparent: Collection[str] = (),
    max_steps: int = 10_000,
) -> Report | None:
    """Replay traces of failures on the code as it is now, and report the first one that still fails, if any does.

    What fails in only some of the runs along it is left to the exploration, which will tell why.

    Args:
        faults: what may go wrong now; what else went wrong in a trace does not happen in its replay.
    """
    began = perf_counter()
    for number, trace in enumerate(traces, start=1):
        try:
            again = still_failing(scenario, trace, transparent=transparent, max_steps=max_steps, faults=faults)
        except (UsageError, Inconclusive):
            continue  # its modules are gone, or something is not under control: the exploration will tell
        if again is not None and again.failure is not None:
            return Report(
                scenario=trace.scenario,
                verdict=Verdict.VIOLATED,
                reason=_say(trace.failure, again.failure),
                strategy="saved failures",
                schedules=number,
                steps=len(again.steps),
                traces=number,
                seconds=perf_counter() - began,
                failure=again.failure,
                trace=again,
                memory=trace.memory,
            )
    return None


def _say(earlier: Failure | None, now: Failure) -> str:
    if earlier is None or shape(earlier) == shape(now):
        return f"a failure that was saved earlier happens again: {now}"
    return f"the schedule of a failure that was saved earlier still fails, if not with the same words: {now}"
