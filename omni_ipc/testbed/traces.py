"""Makes the trace of a recorded run, no longer than it must be."""

from __future__ import annotations

from collections.abc import Sequence

from omni_ipc.records import TRACE_VERSION, Cause, FailureKind, MemoryOrder, Origin, Step, Trace
from omni_ipc.testbed.strategies.base import Run

_SEEN_OF_A_LIVELOCK = 60  # steps after the last deviation from the default order: the rest of it is like these


def trace_of(
    run: Run,
    scenario: str,
    *,
    defect: str | None = None,
    memory: MemoryOrder = MemoryOrder.SC,
    instrument: Sequence[str] = (),
    points: Sequence[str] = (),
    faults: Sequence[str] = (),
    strategy: str | None = None,
    schedule: int | None = None,
    causes: Sequence[Cause] = (),
) -> Trace:
    """Return the trace of a run that was recorded.

    A replay goes on in the default order behind the steps of a trace. So what only repeats itself in that order is left
    out: of a run whose end was quiet, the quiet part; of a livelock, all but its beginning.

    Args:
        scenario: its name, or ``file.py:function``.
        schedule: number of the run among those of its strategy.
    """
    return Trace(
        version=TRACE_VERSION,
        scenario=scenario,
        origin=Origin.EXPLORED,
        steps=steps_worth_keeping(run),
        defect=defect,
        failure=run.failure,
        memory=memory,
        instrument=tuple(instrument),
        points=tuple(points),
        faults=tuple(faults),
        strategy=strategy,
        schedule=schedule,
        pending=tuple(step for _, step in run.pending),
        causes=tuple(causes),
    )


def steps_worth_keeping(run: Run) -> tuple[Step, ...]:
    """Return the steps of a run up to where the default order only repeats itself."""
    steps = run.steps[: run.quiet_since]
    if run.failure is None or run.failure.kind is not FailureKind.LIVELOCK:
        return steps
    return steps[: _decided(steps) + _SEEN_OF_A_LIVELOCK]


def _decided(steps: Sequence[Step]) -> int:
    """Return after how many steps all that follow are those of the default order."""
    deviations = (number for number, step in enumerate(steps, start=1) if step.switch and step.switch.over)
    return max(deviations, default=0)
