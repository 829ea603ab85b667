"""Replays a trace on code: under control, on threads of this process, or on real worker processes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from omni_ipc import scenarios
from omni_ipc.errors import Inconclusive, UnknownName, UsageError
from omni_ipc.records import Failure, FailureKind, Origin, Trace, Verdict
from omni_ipc.serving.host import WorkerHost
from omni_ipc.testbed import Mode
from omni_ipc.testbed import replay as replay_explored
from omni_ipc.workflows.conducting import RealRun, run_function, run_on_processes, run_on_threads
from omni_ipc.workflows.conforming import conform_along
from omni_ipc.workflows.driven import follow_model
from omni_ipc.workflows.exploring import resolve
from omni_ipc.workflows.staging import schedule_of


class On(enum.StrEnum):
    """Where to replay."""

    CONTROLLED = "controlled"  # one thread, virtual time, every step ours
    THREADS = "threads"  # real threads of this process
    PROCESSES = "processes"  # a spawned worker, real tensors, real shared memory


class Replayed(msgspec.Struct, frozen=True):
    """What came of a replay."""

    verdict: Verdict
    on: On
    followed: int  # steps of the trace that were taken in their turn
    of: int
    summary: str
    failure: Failure | None = None
    repairs: tuple[str, ...] = ()  # what was mended to follow it
    trace: Trace | None = None  # of the run itself, if it was under control


def replay(
    trace: Trace,
    *,
    defect: str | None = None,
    on: str = On.CONTROLLED,
    device: str = "cpu",
    mode: str = Mode.STRICT,
    renamed: Mapping[str, str] | None = None,
) -> Replayed:
    """Replay a trace against the reference, or with a defect put back.

    Where the code refuses a step, the rest runs on to its end. A failure is "violated", whatever ended well "ended
    well"; but the code that the trace was recorded on must follow it, else it "diverged". In real time a refused step
    is "inconclusive", as the order that was to be tried was not; unless other code than the trace's goes another way.

    Args:
        device: where the worker computes, if ``on`` is "processes": "cpu" or "cuda".
        mode: under control, whether to mend what an edit of the code has changed.
        renamed: task in the trace -> its name now, for mending.

    Raises:
        UsageError: the scenario, the defect, ``on`` or the device is wrong.
        Inconclusive: not one step could be followed, or something was not under control, or did not end.
    """
    if not trace.steps and trace.failure is None:
        raise UsageError(
            "The trace has no steps, so there is nothing to replay. Make it anew: omni-ipc explore --save."
        )
    if trace.defect is not None and trace.defect not in scenarios.KNOWN:
        raise UnknownName("defect", trace.defect, scenarios.KNOWN)
    if on not in list(On):
        raise UnknownName("place to replay on", on, list(On))
    if on == On.CONTROLLED:
        run = _run_controlled(trace, defect, mode, renamed or {})
        when_left = Verdict.DIVERGED if defect == trace.defect and mode == Mode.STRICT else Verdict.ENDED_WELL
    else:
        real = _run_in_real_time(trace, defect, On(on), device)
        run = _from_real(real)
        goes_elsewhere = real.conducted.is_departure and defect != trace.defect and on == On.PROCESSES
        when_left = Verdict.ENDED_WELL if goes_elsewhere else Verdict.INCONCLUSIVE
    if run.followed == 0 and run.of and not run.failure:
        raise Inconclusive(f"Not one step could be followed. {run.left} Is it a trace of another scenario?")
    return Replayed(
        verdict=Verdict.VIOLATED if run.failure else when_left if run.left else Verdict.ENDED_WELL,
        on=On(on),
        followed=run.followed,
        of=run.of,
        summary=run.left or f"{run.followed} of {run.of} steps ran as in the trace.",
        failure=run.failure,
        repairs=run.repairs,
        trace=run.trace,
    )


class _Run(NamedTuple):
    """What every replay comes down to."""

    followed: int
    of: int
    left: str  # where and how the run left the trace, as a sentence; empty if it did not
    failure: Failure | None
    repairs: tuple[str, ...] = ()
    trace: Trace | None = None  # of the run itself, if it was under control


def _run_controlled(trace: Trace, defect: str | None, mode: str, renamed: Mapping[str, str]) -> _Run:
    function, transparent = resolve(trace.scenario, defect)
    if trace.origin is Origin.EXPLORED:
        result = replay_explored(function, trace, mode=mode, renamed=renamed, transparent=transparent)
        left = f"It left the trace: {result.diverged}." if result.diverged else ""
        return _Run(result.followed, len(trace.steps), left, result.failure, result.repairs, result.trace)
    if trace.failure is not None and trace.failure.kind is FailureKind.DIVERGENCE:
        return _Run(len(trace.steps), len(trace.steps), "", conform_along(trace, defect=defect))
    scenario = scenarios.find(trace.scenario)
    followed = follow_model(trace, scenario, scenario.parts(defect))
    left = followed.way if followed.refusal or followed.departure else ""
    return _Run(followed.steps, len(trace.steps), left, followed.failure)


def _run_in_real_time(trace: Trace, defect: str | None, on: On, device: str) -> RealRun:
    if ":" in trace.scenario:
        function, _ = resolve(trace.scenario, defect)
        if on is On.PROCESSES:
            raise UsageError(
                f"'{trace.scenario}' is a function and has no worker to start. Use --on threads if it opens regions "
                "(rt.region); else leave out --on, and it is replayed under control."
            )
        return run_function(function, trace.steps)
    scenario = scenarios.find(trace.scenario)
    parts = scenario.parts(defect)
    if on is On.THREADS:
        scenario.require_model()
        return run_on_threads(scenario, parts, trace.steps)
    steps = schedule_of(trace, scenario, defect)
    vocabulary = {(step.task, step.action) for step in steps}
    with WorkerHost() as host:
        return run_on_processes(scenario, parts, steps, device=device, host=host, vocabulary=vocabulary)


def _from_real(run: RealRun) -> _Run:
    conducted = run.conducted
    left = f"It left the trace: {conducted.refusal}." if conducted.refusal else ""
    if not left and not conducted.whole:
        left = f"It left the trace: it had ended before step {conducted.followed + 1} of {conducted.of}."
    return _Run(conducted.followed, conducted.of, left, run.failure)
