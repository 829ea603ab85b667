"""How often each step of a state graph is taken at least, by runs that together take all of some steps.

A run enters a state as often as it leaves it, but where it ends. So a state that more steps lead out of than into must
be entered more often, by ways from states where runs would end otherwise, or from the beginning: the nearest of these
give what is lacking.

    0 ──► 1 ──► 2         one step leads into 1, and two out of it: so 0 ──► 1 is taken twice
          └───► 3
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Collection, Iterator, Sequence

from omni_ipc.conformance.graphs.graph import Graph


def spread(graph: Graph, leaving: Sequence[Sequence[int]], left: Collection[int], lot: random.Random) -> list[int]:
    """Give, for each step, how often it is taken; all in ``left`` are taken at least once.

    Args:
        leaving: of each state, the steps that may be taken, as places in ``graph.edges``.
        left: those that must be; each can be reached.
        lot: chooses among ways that are equally long.
    """
    flow = [0] * len(graph.edges)
    balance = [0] * len(graph.states)  # how often a state is entered, less how often it is left
    for place in left:
        flow[place] = 1
        balance[graph.edges[place].target] += 1
        balance[graph.edges[place].source] -= 1
    for state in graph.initial:
        balance[state] = len(left)  # runs may begin there as often as it takes
    lacking = [state for state, more in enumerate(balance) if more < 0]
    while lacking:
        _supply(graph, leaving, flow, balance, lacking, lot)
        lacking = [state for state in lacking if balance[state] < 0]
    _join(graph, leaving, flow)
    return flow


def _supply(
    graph: Graph,
    leaving: Sequence[Sequence[int]],
    flow: list[int],
    balance: list[int],
    lacking: Sequence[int],
    lot: random.Random,
) -> None:
    """Lead to each state what it lacks, as far as the nearest state that has more than it needs can give it."""
    sources = [state for state, more in enumerate(balance) if more > 0]
    lot.shuffle(sources)
    ways = _ways(graph, leaving, sources)
    order = {state: number for number, state in enumerate(ways)}
    for state in sorted(lacking, key=order.__getitem__):
        steps = list(_way(graph, ways, state))
        source = graph.edges[steps[-1]].source
        count = min(-balance[state], balance[source])
        balance[state] += count
        if source not in graph.initial:
            balance[source] -= count
        for place in steps:
            flow[place] += count


def _join(graph: Graph, leaving: Sequence[Sequence[int]], flow: list[int]) -> None:
    """Lead to circles that nothing else leads to."""
    met = set(graph.initial)
    _meet(graph, leaving, flow, met, list(met))
    lost = [edge.source for edge, count in zip(graph.edges, flow, strict=True) if count and edge.source not in met]
    ways = _ways(graph, leaving, graph.initial) if lost else {}
    for state in lost:
        if state not in met:
            for place in _way(graph, ways, state):
                flow[place] += 1
            _meet(graph, leaving, flow, met, list(graph.initial))


def _meet(graph: Graph, leaving: Sequence[Sequence[int]], flow: list[int], met: set[int], border: list[int]) -> None:
    """Add the states that steps lead to which are taken."""
    seen = set(border)
    while border:
        for place in leaving[border.pop()]:
            target = graph.edges[place].target
            if flow[place] and target not in seen:
                seen.add(target)
                border.append(target)
    met |= seen


def _ways(graph: Graph, leaving: Sequence[Sequence[int]], sources: Sequence[int]) -> dict[int, int | None]:
    """Find the last step of a shortest way to each state, the nearest states first; None to where the ways begin."""
    ways: dict[int, int | None] = dict.fromkeys(sources)
    border = deque(sources)
    while border:
        for place in leaving[border.popleft()]:
            target = graph.edges[place].target
            if target not in ways:
                ways[target] = place
                border.append(target)
    return ways


def _way(graph: Graph, ways: dict[int, int | None], state: int) -> Iterator[int]:
    """Go back from a state to where its way begins."""
    while (place := ways[state]) is not None:
        yield place
        state = graph.edges[place].source
