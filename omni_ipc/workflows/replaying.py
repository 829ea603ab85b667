"""Replays a trace on code: under control, on threads of this process, or on real worker processes."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from types import TracebackType

import msgspec

from omni_ipc import scenarios
from omni_ipc.conformance.replay import Followed, follow
from omni_ipc.errors import UnknownName
from omni_ipc.records import Failure, Origin, Trace, Verdict
from omni_ipc.scenarios import EngineWorld, Parts, Scenario
from omni_ipc.serving.host import WorkerHost
from omni_ipc.testbed import ControlledRuntime, Offer, Stepper
from omni_ipc.testbed import replay as replay_explored
from omni_ipc.workflows.conducting import RealRun, run_function, run_on_processes, run_on_threads
from omni_ipc.workflows.exploring import build, load_function, resolve


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

    Args:
        device: where the worker computes, if ``on`` is "processes": "cpu" or "cuda".

    Raises:
        UsageError: the scenario, the defect, ``on`` or the device is wrong.
    """
    if on not in list(On):
        raise UnknownName("place to replay on", on, list(On))
    function, transparent = resolve(trace.scenario, defect)
    if on == On.CONTROLLED and trace.origin is Origin.EXPLORED:
        return _from_explored(trace, replay_explored(function, trace, transparent=transparent))
    if ":" in trace.scenario:
        ...
    scenario = scenarios.find(trace.scenario)
    parts = scenario.parts(defect)
    if on == On.CONTROLLED:
        return _from_followed(trace, follow_model(trace, scenario, parts))
    if on == On.THREADS:
        return _from_real(On.THREADS, run_on_threads(scenario, parts, trace.steps))
    with WorkerHost() as host:
        return _from_real(On.PROCESSES, run_on_processes(scenario, parts, trace.steps, device=device, host=host))


def follow_model(trace: Trace, scenario: Scenario, parts: Parts) -> Followed:
    """Drive a scenario's code along a model's trace, its state compared with the model's after each step."""
    with DrivenWorld(scenario, parts) as driven:
        return follow(trace, driven, actions={action for _, action in scenario.steps})


class DrivenWorld:
    """A scenario under control, as conformance drives it; a context manager."""

    def __init__(self, scenario: Scenario, parts: Parts) -> None:
        self._scenario = scenario
        self._parts = parts
        self._world: EngineWorld | None = None
        self._stepper = Stepper(self._run, transparent=scenario.transparent)

    def __enter__(self) -> DrivenWorld:
        self._stepper.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stepper.__exit__(kind, error, trace)

    def offers(self) -> Sequence[Offer]:
        return self._stepper.offers()

    def take(self, task: str) -> None:
        self._stepper.take(task)

    def state(self) -> Mapping[str, object]:
        assert self._world is not None, "a step of the model was taken, so the world has been built"
        return self._world.project(self._stepper.runtime.pending)

    def finish(self) -> Failure | None:
        self._stepper.finish()
        return self._stepper.failure

    def _run(self, rt: ControlledRuntime) -> object:
        self._world = build(self._scenario, self._parts, rt)
        return self._world.run()
