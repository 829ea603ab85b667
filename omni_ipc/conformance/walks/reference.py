"""What code is held against: a graph, what its steps are in code, and what the model leaves to the code."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from omni_ipc.conformance.graphs.graph import Graph, Label
from omni_ipc.conformance.walks.moves import Moves
from omni_ipc.values import normal


class Reference:
    """What code is held against.

    Args:
        termination: the action of a finished system, which is no step: there the code must end, and well.
        ghosts: variables that the code need not show.
        choices: actions with parameters that the code chooses: of several such steps that a model can take in a state
            the code must be able to take one there, and each of them in some run.
    """

    def __init__(
        self,
        graph: Graph,
        moves: Moves,
        *,
        termination: str | None,
        ghosts: frozenset[str],
        choices: Collection[str] = (),
    ) -> None:
        self.graph = graph
        self.moves = moves
        self.ghosts = ghosts
        self.choices = frozenset(choices)
        self.termination = frozenset(
            place for place, edge in enumerate(graph.edges) if edge.label.action == termination
        )
        self.steps = tuple(
            tuple(place for place in leaving if place not in self.termination) for leaving in graph.leaving
        )
        self.labels = tuple(frozenset(graph.edges[place].label for place in steps) for steps in self.steps)
        self.shown = tuple(place for place, name in enumerate(graph.variables) if name not in ghosts)
        self.names = tuple(graph.variables[place] for place in self.shown)

    def alike(self, place: int) -> list[int]:
        """Give the steps from one state with one label: all of them but for nondeterminism are one."""
        edge = self.graph.edges[place]
        return [other for other in self.steps[edge.source] if self.graph.edges[other].label == edge.label]

    def is_over(self, state: int) -> bool:
        """Tell whether the system is finished in a state."""
        return not self.steps[state] and not self.termination.isdisjoint(self.graph.leaving[state])

    def may_be_missing(self, label: Label, offered: Collection[Label]) -> bool:
        """Tell whether the code has chosen another step instead."""
        return label.action in self.choices and any(other.action == label.action for other in offered)

    def agrees(self, state: int, found: Sequence[object]) -> bool:
        """Tell whether what the code shows is a state, ghosts left out.

        Raises:
            UsageError: a value is none of TLA+'s.
        """
        values = self.graph.states[state]
        return all(
            values[place] == value or values[place] == normal(value)  # few values have to be made normal to be equal
            for place, value in zip(self.shown, found, strict=True)
        )
