"""A scenario under control, as conformance walks it along a state graph: thousands of runs of one world."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import cast

import msgspec

from omni_ipc.records import Failure, Field
from omni_ipc.scenarios import Parts, Scenario, World
from omni_ipc.scenarios.scenario import StoringWorld
from omni_ipc.scenarios.world import END, PendingStep
from omni_ipc.testbed import ControlledRuntime, Offer, ScheduleFailed, Stepper, Stepping
from omni_ipc.testbed.faults.timers import EarlyTimers
from omni_ipc.values import Value

_TIME = "time"
_AGENTS = ("fault.", "time.passes")  # how their steps are called


class WorldRuns:
    """Begins runs of a scenario's world; a context manager."""

    def __init__(self, scenario: Scenario, parts: Parts) -> None:
        self._scenario = scenario
        self._parts = parts
        self._world: World | None = None
        # With a fault, if only that time never passes early, time is a step like any other, and in our hands.
        faults = (EarlyTimers(0), *scenario.faults)
        transparent = set(scenario.transparent) - {END}
        self._stepping = Stepping(
            self._run, transparent=transparent, memory=scenario.memory, faults=faults, declared=True
        )

    def __enter__(self) -> WorldRuns:
        self._stepping.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stepping.__exit__(kind, error, trace)

    @contextlib.contextmanager
    def begin(self, initial: Mapping[str, Value]) -> Iterator[WorldRun]:
        """Begin a run in an initial state of the model; the one before must have been left."""
        self._world = None
        orders = self._scenario.orders
        memory = orders[str(initial["order"])] if orders else None
        with self._stepping.begin(memory) as stepper:
            yield WorldRun(stepper, self.project, self._scenario.is_agent, self._cell if orders else None)

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project the run that was begun last; it takes steps to build its world."""
        assert self._world is not None, "the run has come to rest, so the world has been built"
        return self._world.project(pending)

    def _cell(self, place: Mapping[str, Field]) -> str | None:
        """Name a place in memory; None as long as the world is being built."""
        return None if self._world is None else cast(StoringWorld, self._world).cell(place)

    def _run(self, rt: ControlledRuntime) -> object:
        self._world = self._scenario.world(rt, self._parts)
        return self._world.run()


class WorldRun:
    """One run."""

    def __init__(
        self,
        stepper: Stepper,
        project: Callable[[PendingStep], Mapping[str, object]],
        is_agent: Callable[[str], bool],
        cell: Callable[[Mapping[str, Field]], str | None] | None = None,
    ) -> None:
        self._stepper = stepper
        self._project = project
        self._is_agent = is_agent
        self._cell = cell

    @property
    def failure(self) -> Failure | None:
        return self._stepper.failure

    def enabled(self) -> Sequence[Offer]:
        return self._shown(self._stepper.enabled())

    def offers(self) -> Sequence[Offer]:
        return self._shown(self._stepper.offers())

    def take(self, task: str) -> None:
        if self._cell is None or not self._is_agent(task):
            self._stepper.take(task)
            return
        chosen = next((offer for offer in self._stepper.enabled() if self._name(offer) == task), None)
        if chosen is None:
            self._stepper.take(task)
        else:
            self._stepper.take(chosen.task, chosen.number)

    def pass_time(self) -> bool:
        enabled = [offer.task for offer in self._stepper.enabled()]
        if enabled[:1] != [_TIME] or self._is_agent(_TIME):  # it comes first among the agents
            return False
        self._stepper.take(_TIME)
        return True

    def state(self) -> Mapping[str, object]:
        return self._project(self._stepper.runtime.pending)

    def finish(self) -> Failure | None:
        try:
            self._stepper.finish()
        except ScheduleFailed as failed:
            return failed.failure
        return None

    def _shown(self, offers: Sequence[Offer]) -> Sequence[Offer]:
        """Leave out faults that the model does not speak of, and what comes after its end."""
        if self._cell is not None:
            offers = [self._renamed(offer) for offer in offers]
        return [
            offer
            for offer in offers
            if not (offer.action == END or offer.action.startswith(_AGENTS)) or self._is_agent(offer.task)
        ]

    def _renamed(self, offer: Offer) -> Offer:
        return offer if (name := self._name(offer)) == offer.task else msgspec.structs.replace(offer, task=name)

    def _name(self, offer: Offer) -> str:
        """Name a task; drains after the cell as well, for there may be one for each."""
        if self._cell is None or offer.action != "words.flush" or (cell := self._cell(offer.fields)) is None:
            return offer.task
        return f"{offer.task} to {cell}"
