"""All that a twin can do, found breadth first: a model checker of a dozen lines, which shares nothing with TLC."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from omni_ipc.conformance.graphs.graph import Graph, Label
from omni_ipc.records import Field
from omni_ipc.values import normal

State = dict[str, Any]
Steps = Callable[[State], Iterator[tuple[Label, State]]]


def label(action: str, **params: Field) -> Label:
    return Label(action, tuple(params.items()))


def explore(initial: State, steps: Steps) -> Graph:
    """Give the state graph of a twin: its states by name of variable, in ordinary Python values."""
    names = sorted(initial)

    def frozen(state: State) -> tuple[object, ...]:
        return tuple(normal(state[name]) for name in names)

    found = {frozen(initial): initial}
    taken = []
    border = [initial]
    for state in border:
        for action, after in steps(state):
            if (key := frozen(after)) not in found:
                found[key] = after
                border.append(after)
            taken.append((frozen(state), action, frozen(after)))
    return Graph(names, found, [frozen(initial)], taken)
