"""What the actions of a model are in code: which task takes which step, with which fields."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from omni_ipc.conformance.counterexamples.counterexample import region
from omni_ipc.conformance.graphs.graph import Label
from omni_ipc.errors import UsageError
from omni_ipc.records import Field


class Operation(Protocol):
    """What a task would do next."""

    @property
    def task(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def fields(self) -> Mapping[str, Field]: ...


class Move(NamedTuple):
    """The step that one instance of an action is.

    Attributes:
        action: the region's name; None if whatever the task does is the step, as of the agent of a fault.
    """

    task: str
    action: str | None
    fields: Mapping[str, Field]

    def fits(self, operation: Operation) -> bool:
        """Tell whether an operation is this step: no field that both name differs."""
        if operation.task != self.task or self.action not in (None, operation.action):
            return False
        given = operation.fields
        return all(given.get(name, value) == value for name, value in self.fields.items())


class Moves:
    """The steps of all instances of a model's actions.

    Args:
        labels: the instances.
        tasks: actor, or action that another task takes -> the name of the task, with parameters in braces.
        agents: action that is a fault, or the passing of time -> the name of its agent, with parameters in braces.

    Raises:
        UsageError: an action has no actor in ``tasks``; or a task wants a parameter that its action does not have.
    """

    def __init__(self, labels: Iterable[Label], *, tasks: Mapping[str, str], agents: Mapping[str, str]) -> None:
        self.of: dict[Label, Move] = {label: _move(label, tasks, agents) for label in labels}
        self._regions = {move.action for move in self.of.values() if move.action is not None}
        self._fitting: dict[object, list[Label]] = {}  # by operation: all that it is a step of
        self._actors = {action.partition(".")[0] for action in self._regions}
        self._agents = {move.task for move in self.of.values() if move.action is None}

    @property
    def tasks(self) -> frozenset[str]:
        """The names of all tasks that take steps of the model."""
        return frozenset(move.task for move in self.of.values())

    def is_unknown(self, action: str) -> bool:
        """Tell whether an operation is called like a step of one of the model's actors, and is none."""
        return action.partition(".")[0] in self._actors and action not in self._regions

    def is_visible(self, task: str, action: str) -> bool:
        """Tell whether the model speaks of what a task does next."""
        return action in self._regions or task in self._agents

    def fitting(self, operation: Operation, labels: Collection[Label]) -> list[Label]:
        """Give those of ``labels`` that an operation is a step of."""
        key = (operation.task, operation.action, *operation.fields.items())
        known = self._fitting.get(key)
        if known is None:  # the same few operations are met again in thousands of states
            known = self._fitting[key] = [label for label, move in self.of.items() if move.fits(operation)]
        return [label for label in known if label in labels]


def _move(label: Label, tasks: Mapping[str, str], agents: Mapping[str, str]) -> Move:
    fields = dict(label.params)
    if label.action in agents:
        return Move(_filled(agents[label.action], fields, label), None, {})
    name = region(label.action)
    template = tasks.get(name, tasks.get(name.partition(".")[0]))
    if template is None:
        raise UsageError(f"No task plays the actor of {label}. Add '{name.partition('.')[0]}' to the scenario's tasks.")
    return Move(_filled(template, fields, label), name, fields)


def _filled(template: str, fields: Mapping[str, Field], label: Label) -> str:
    try:
        return template.format_map(fields)
    except KeyError as error:
        raise UsageError(f"The task '{template}' wants {error}, which {label} does not have.") from None
