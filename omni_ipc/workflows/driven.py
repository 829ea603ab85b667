"""A scenario under control, as conformance drives it along the trace of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from omni_ipc.conformance.replay import Followed, follow
from omni_ipc.records import Failure, Trace
from omni_ipc.scenarios import Parts, Scenario, World
from omni_ipc.testbed import ControlledRuntime, Offer, ScheduleFailed, Stepper


def follow_model(trace: Trace, scenario: Scenario, parts: Parts) -> Followed:
    """Drive a scenario's code along a model's trace, its state compared with the model's after each step."""
    with _DrivenWorld(scenario, parts) as driven:
        return follow(trace, driven, actions={action for _, action in scenario.steps})


class _DrivenWorld:
    """The world and the run that it lives in; a context manager."""

    def __init__(self, scenario: Scenario, parts: Parts) -> None:
        self._scenario = scenario
        self._parts = parts
        self._world: World | None = None
        self._stepper = Stepper(self._run, transparent=scenario.transparent)

    def __enter__(self) -> _DrivenWorld:
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
        try:
            self._stepper.finish()
        except ScheduleFailed as failed:
            return failed.failure
        return None

    def _run(self, rt: ControlledRuntime) -> object:
        self._world = self._scenario.world(rt, self._parts)
        return self._world.run()
