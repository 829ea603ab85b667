"""Replays a trace on code: under control, on threads of this process, or on real worker processes."""

from __future__ import annotations

import enum

import msgspec

from omni_ipc import scenarios
from omni_ipc.conformance.replay import Followed
from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import Failure, Origin, Trace, Verdict
from omni_ipc.serving.host import WorkerHost
from omni_ipc.testbed import ReplayResult
from omni_ipc.testbed import replay as replay_explored
from omni_ipc.workflows.conducting import RealRun, run_function, run_on_processes, run_on_threads
from omni_ipc.workflows.driven import follow_model
from omni_ipc.workflows.exploring import load_function, resolve


class On(enum.StrEnum):
    """Where to replay."""

    CONTROLLED = "controlled"  # one thread, virtual time, every step ours
    THREADS = "threads"  # real threads of this process
    PROCESSES = "processes"  # a spawned worker, real tensors, real shared memory


class Replayed(msgspec.Struct, frozen=True):
    """What came of a replay."""

    verdict: Verdict  # holds: it ended well; violated: it failed; inconclusive: the trace could not be followed
    on: On
    followed: int  # steps of the trace that were taken in their turn
    of: int
    summary: str
    failure: Failure | None = None


def replay(trace: Trace, *, defect: str | None = None, on: str = On.CONTROLLED, device: str = "cpu") -> Replayed:
    """Replay a trace against the reference, or with a defect put back.

    Under control a step that is refused decides nothing by itself: the rest runs on, and its end is the verdict. In real
    time it is inconclusive, because the order that was to be tried was not.

    Args:
        device: where the worker computes, if ``on`` is "processes": "cpu" or "cuda".

    Raises:
        UsageError: the scenario, the defect, ``on`` or the device is wrong.
        Inconclusive: something was not under control, or did not end.
    """
    if on not in list(On):
        raise UnknownName("place to replay on", on, list(On))
    if on == On.CONTROLLED:
        return _replay_controlled(trace, defect)
    if ":" in trace.scenario:
        return _replay_function(trace, defect, On(on))
    scenario = scenarios.find(trace.scenario)
    parts = scenario.parts(defect)
    if on == On.THREADS:
        return _from_real(On.THREADS, run_on_threads(scenario, parts, trace.steps))
    with WorkerHost() as host:
        run = run_on_processes(scenario, parts, trace.steps, device=device, host=host)
    return _from_real(On.PROCESSES, run)


def _replay_controlled(trace: Trace, defect: str | None) -> Replayed:
    function, transparent = resolve(trace.scenario, defect)
    if trace.origin is Origin.EXPLORED:
        return _from_explored(trace, replay_explored(function, trace, transparent=transparent))
    scenario = scenarios.find(trace.scenario)
    return _from_model(trace, follow_model(trace, scenario, scenario.parts(defect)))


def _replay_function(trace: Trace, defect: str | None, on: On) -> Replayed:
    resolve(trace.scenario, defect)
    if on == On.PROCESSES:
        raise UsageError(
            f"'{trace.scenario}' is a function, and only scenarios of the table have workers. Use --on threads."
        )
    return _from_real(on, run_function(load_function(trace.scenario), trace.steps))


def _from_explored(trace: Trace, result: ReplayResult) -> Replayed:
    left = "" if result.diverged is None else f" It left the trace: {result.diverged}."
    return Replayed(
        verdict=_judge(result.failure),
        on=On.CONTROLLED,
        followed=result.followed,
        of=len(trace.steps),
        summary=f"{result.followed} of {len(trace.steps)} steps ran as in the trace.{left} {_end(result.failure)}",
        failure=result.failure,
    )


def _from_model(trace: Trace, followed: Followed) -> Replayed:
    return Replayed(
        verdict=_judge(followed.failure),
        on=On.CONTROLLED,
        followed=followed.steps,
        of=len(trace.steps),
        summary=followed.summary,
        failure=followed.failure,
    )


def _from_real(on: On, run: RealRun) -> Replayed:
    conducted = run.conducted
    left = "" if conducted.refusal is None else f" It left the trace: {conducted.refusal}."
    return Replayed(
        verdict=_judge(run.failure) if run.failure or conducted.whole else Verdict.INCONCLUSIVE,
        on=on,
        followed=conducted.followed,
        of=conducted.of,
        summary=f"{conducted.followed} of {conducted.of} steps ran in their turn.{left} {_end(run.failure)}",
        failure=run.failure,
    )


def _judge(failure: Failure | None) -> Verdict:
    return Verdict.HOLDS if failure is None else Verdict.VIOLATED


def _end(failure: Failure | None) -> str:
    return "It ended well." if failure is None else f"It ended with {failure}."
