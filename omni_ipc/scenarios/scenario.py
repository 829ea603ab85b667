"""What a scenario is: a small world, the model that it implements, and the defects that it can have."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import Field, MemoryOrder
from omni_ipc.scenarios.defects import KNOWN
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.world import END, Launch, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed.faults.kernel import Fault


class World(Protocol):
    """A small world, to be run once.

    Where stores are seen late, and the model speaks of that, it has a method `cell` besides: see `StoringWorld`.
    """

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end, and tell how it ended for whom.

        Raises:
            OutputsLost: somebody did not get what was promised.
        """

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Give the model's variables, read off the state of the code; none where there is no model."""


class StoringWorld(World, Protocol):
    """A world whose model has late stores as steps."""

    def cell(self, place: Mapping[str, Field]) -> str | None:
        """Name what lies at a place in memory as the model does, by the fields of a store; None if it knows no such."""


class WorldClass(Protocol):
    """Builds a world out of parts; ``launch`` starts the worker."""

    def __call__(self, rt: Runtime, parts: Parts, launch: Launch = ...) -> World: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Staged:
    """What a worker process computes with, in place of what the world itself has; classes by import path.

    Args:
        options: of the pipeline.
        device: gets the name of the one that was asked for as its option "kind"; that one itself unless given.
    """

    pipeline: str = "omni_ipc.scenarios.pipelines:TensorPipeline"
    options: Mapping[str, int] = dataclasses.field(default_factory=dict)
    device: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Scenario:
    """One entry of the table.

    Args:
        model: the spec that it implements at its grain, if there is one.
        tasks: actor in the model -> name of its task here; braces hold a parameter of the action. A region as key goes
            before its actor: "Engine.Abort".
        steps: the (task, action) pairs that the model speaks of; what else a task does is none of its business.
        transparent: regions that are not steps of this model but hold some.
        faults: what may go wrong where the model says so.
        agents: action of the model that is a fault, or the passing of time -> name of its agent in the testbed:
            "kill(worker)", "time"; or the name of a task of which every step is that action. Braces as in ``tasks``.
        orders: of a model of several machines, value of its variable "order" -> the memory order of that one. A drain
            is called after its task and the `cell` then, to which it brings stores: "writer's stores to position".
        staged: what a worker process computes with.
        memory: the order in which stores reach memory, of a model of one machine.
    """

    name: str
    world: WorldClass
    model: str | None = None
    tasks: Mapping[str, str] = dataclasses.field(default_factory=dict)
    steps: frozenset[tuple[str, str]] = frozenset()
    transparent: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    agents: Mapping[str, str] = dataclasses.field(default_factory=dict)
    orders: Mapping[str, MemoryOrder] = dataclasses.field(default_factory=dict)
    staged: Staged = Staged()
    memory: MemoryOrder = MemoryOrder.SC

    def __post_init__(self) -> None:
        object.__setattr__(self, "transparent", (*self.transparent, END))

    def require_model(self) -> str:
        """Name the model, for what goes by its steps.

        Raises:
            UsageError: there is none.
        """
        if self.model is None:
            raise UsageError(
                f"The scenario '{self.name}' has no model at its grain, whose steps could be put in order. "
                f"Explore it, or replay it under control: omni-ipc explore {self.name}."
            )
        return self.model

    def is_agent(self, task: str) -> bool:
        """Tell whether each step of a task is an action of the model, whatever it does."""
        return _fits(task, tuple(self.agents.values()))

    def parts(self, defect: str | None) -> Parts:
        """Give the parts of the reference, or those with a defect.

        Raises:
            UnknownName: there is no such defect.
            UsageError: the defect shows in another scenario.
        """
        if defect is None:
            return Parts()
        known = KNOWN.get(defect)
        if known is None:
            raise UnknownName("defect", defect, KNOWN)
        if self.name not in (known.scenario, *known.also):
            raise UsageError(
                f"The defect '{defect}' does not show in the scenario '{self.name}'. "
                f"Use its own: omni-ipc explore {known.scenario} --defect {defect}."
            )
        return known.parts


@functools.cache
def _fits(name: str, templates: tuple[str, ...]) -> bool:
    return any(re.fullmatch(re.sub(r"\\{\w+\\}", ".+", re.escape(template)), name) for template in templates)
