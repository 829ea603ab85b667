"""What is walked: scenarios, of the table or of one's own, each with the state graph of its model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from omni_ipc import scenarios
from omni_ipc.conformance.counterexamples.counterexample import region
from omni_ipc.conformance.graphs.dump import find_graph, ghosts, labels_of
from omni_ipc.conformance.models.manifest import Manifest, Role
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.walks.moves import Moves
from omni_ipc.conformance.walks.reference import Reference
from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.scenarios import Scenario
from omni_ipc.testbed.brief import say_error
from omni_ipc.testbed.loading import load


def find_scenario(name: str) -> Scenario:
    """Look up a scenario of the table, or call the function of one's own that makes one.

    Raises:
        UnknownName: there is none of that name.
        UsageError: the function cannot be called, raises, or makes something else.
    """
    if ":" not in name:
        return scenarios.find(name)
    make = load(name)
    try:
        made = make()
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"'{name}' raised {say_error(error)}. Let it take no arguments, and return a Scenario(...)."
        ) from error
    if not isinstance(made, Scenario):
        raise UsageError(
            f"'{name}' makes {made!r}, and no scenario to be walked. Let it return omni_ipc.scenarios.Scenario(...)."
        )
    return dataclasses.replace(made, name=name)


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """A scenario with what it is held against."""

    scenario: Scenario
    model: str
    reference: Reference
    graph_from: str

    @classmethod
    def of(cls, scenario: Scenario, manifest: Manifest, children: Children) -> Subject:
        """Find the graph of a scenario's model.

        Raises:
            UsageError: scenario and model do not fit together.
            EnvironmentMissing: the graph must be made anew, and there is no TLC.
        """
        spec = scenario.require_model()
        model = manifest.graph_model(spec)
        graph, graph_from = find_graph(model, manifest, children)
        termination = manifest.specs[spec].termination
        moves = Moves(labels_of(model, manifest).values(), tasks=scenario.tasks, agents=scenario.agents)
        _require_vocabulary(scenario, moves)
        hidden, choices = ghosts(spec, manifest), manifest.specs[spec].choices
        reference = Reference(graph, moves, termination=termination, ghosts=hidden, choices=choices)
        return cls(scenario, model.name, reference, graph_from)


def _require_vocabulary(scenario: Scenario, moves: Moves) -> None:
    """Refuse a scenario whose steps are not those of its model; some task may never come to one of them."""
    played = {(move.task, move.action) for move in moves.of.values() if move.action is not None}
    actions = {region(label.action) for label in moves.of}
    for task, action in sorted(played - scenario.steps):
        raise UsageError(
            f"In the model of '{scenario.name}' the task '{task}' takes the step {action}, which is not among the "
            "scenario's steps. Add it there, or correct the scenario's tasks."
        )
    for task, action in sorted(step for step in scenario.steps if step[1] not in actions):
        raise UsageError(
            f"The scenario '{scenario.name}' names the step {action} of the task '{task}', and the model has no such "
            "action. Take it away there, or give the model the action."
        )


def chosen_scenarios(names: Sequence[str], manifest: Manifest, defect: str | None) -> list[Scenario]:
    """Give those that names of specs or scenarios mean, or in which a defect shows, or all that have a graph.

    Raises:
        UnknownName: a name means none; or there is no such defect.
        UsageError: the defect shows in none; or there is none, because the specs are of one's own.
    """
    graphs = {model.spec for model in manifest.models if model.role is Role.GRAPH}
    known = [scenario for scenario in scenarios.SCENARIOS.values() if scenario.model in graphs]
    own = [name for name in names if ":" in name]
    if own and len(own) == len(names):
        return list(map(find_scenario, own))
    if not known:
        raise UsageError(
            f"The specs in '{manifest.folder}' have no scenario here to walk. "
            "Name yours: omni-ipc conform path/to/file.py:function."
        )
    for name in names:
        if not any(name in (scenario.name, scenario.model) for scenario in known):
            raise UnknownName("walkable model", name, {str(scenario.model) for scenario in known})
    if names:
        return [one for one in known if one.name in names or one.model in names]
    if defect is None:
        return known
    if defect not in scenarios.KNOWN:
        raise UnknownName("defect", defect, scenarios.KNOWN)
    showing = scenarios.KNOWN[defect]
    if chosen := [one for one in known if one.name in (showing.scenario, *showing.also)]:
        return chosen
    raise UsageError(
        f"The defect '{defect}' shows in no scenario that is walked along a model. "
        f"Explore it: omni-ipc explore {showing.scenario} --defect {defect}."
    )
