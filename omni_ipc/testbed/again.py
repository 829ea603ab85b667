"""Failures of earlier explorations, tried before a new one begins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from time import perf_counter

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Report, Trace, Verdict
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.replay import Mode, replay
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

    Args:
        faults: what may go wrong now; what else went wrong in a trace does not happen in its replay.
    """
    began = perf_counter()
    for number, trace in enumerate(traces, start=1):
        try:
            result = replay(
                scenario, trace, mode=Mode.TOLERANT, transparent=transparent, max_steps=max_steps, faults=faults
            )
        except (UsageError, Inconclusive):
            continue  # its modules are gone, or something is not under control: the exploration will tell
        if result.failure is not None:
            return Report(
                scenario=trace.scenario,
                verdict=Verdict.VIOLATED,
                reason=f"a failure that was saved earlier happens again: {result.failure}",
                strategy="saved failures",
                schedules=number,
                steps=len(result.trace.steps),
                traces=number,
                seconds=perf_counter() - began,
                failure=result.failure,
                trace=result.trace,
                memory=trace.memory,
            )
    return None
