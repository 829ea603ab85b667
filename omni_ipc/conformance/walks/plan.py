"""Where to go next in a state graph, so that few steps in all take every step of it.

Each run begins in an initial state, so that steps are taken anew to come to others: how often each must be is known
before, see `flow`, and no run takes one more often, but in a circle. Among the steps that are left to it a run takes
the one behind which most lie that nobody has taken, for there may be no time for all; that is counted anew now and
then, for it takes longer than a run. Circles come before what leads out of them.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Collection, Iterator, Sequence

from omni_ipc.conformance.graphs.graph import Graph
from omni_ipc.conformance.walks.flow import spread

_COUNTED_A_RUN = 1_000  # edges that are counted for each run, on average


class Plan:
    """The steps of a graph that are still to be taken.

    Args:
        skipped: places in ``graph.edges`` of steps that nobody can take.
        lot: breaks ties, so that what a run does not bring another one may.

    Attributes:
        left: places in ``graph.edges`` of the steps to be taken.
    """

    def __init__(self, graph: Graph, skipped: Collection[int], lot: random.Random) -> None:
        self._graph = graph
        self._lot = lot
        may = set(range(len(graph.edges))) - set(skipped)
        self._leaving = [[place for place in leaving if place in may] for leaving in graph.leaving]
        self._from_the_end = _finished_first(graph, self._leaving)
        self.left = {place for state in self._from_the_end for place in self._leaving[state]}
        self._component = _components(graph, self._leaving)
        self._flow = spread(graph, self._leaving, self.left, lot)  # how often each step is taken from now on
        self._most = [0] * len(graph.states)  # of each state, how many steps may be left on a way from it
        self._counted = 0

    def first(self) -> int | None:
        """Give an initial state that has something ahead, for a run; None if all is done."""
        if (start := self._start()) is None and self.left:
            self._flow = spread(self._graph, self._leaving, self.left, self._lot)  # the code chose other steps
            start = self._start()
        if self._counted <= 0:
            self._count()
            self._counted = len(self._graph.edges)
        self._counted -= _COUNTED_A_RUN
        return start

    def next(self, state: int) -> int | None:
        """Give the step to take in a state; None if nothing is ahead that another run cannot take as well."""
        edges, component, own, best, most = self._graph.edges, self._component, self._component[state], None, -1.0
        for place in self._leaving[state]:
            if self._flow[place]:
                target = edges[place].target
                promise = (place in self.left) + self._most[target] + self._lot.random()
                if component[target] == own:
                    promise += len(edges)
                if promise > most:
                    best, most = place, promise
        return self._around(state) if best is None else best

    def take(self, place: int) -> None:
        """Note that a step was taken, or is given up."""
        self.left.discard(place)
        self._flow[place] = max(0, self._flow[place] - 1)

    def _around(self, state: int) -> int | None:
        """The first step of a shortest way around a circle to a step that is left: to begin anew takes longer."""
        edges, component = self._graph.edges, self._component
        seen, border = {state}, deque([(state, -1)])
        while border:
            at, first = border.popleft()
            for place in self._leaving[at]:
                target, begun = edges[place].target, place if first < 0 else first
                if place in self.left:
                    return begun
                if target not in seen and component[target] == component[state]:
                    seen.add(target)
                    border.append((target, begun))
        return None

    def _start(self) -> int | None:
        starts = (state for state in self._graph.initial if any(self._flow[place] for place in self._leaving[state]))
        return next(starts, None) if self.left else None

    def _count(self) -> None:
        """Count the most steps that are left on a way from each state; in circles only about that many."""
        edges, most, left, flow = self._graph.edges, self._most, self.left, self._flow
        for state in self._from_the_end:
            best = 0
            for place in self._leaving[state]:
                if flow[place] and (target := edges[place].target) != state:
                    found = most[target] + (place in left)
                    if found > best:  # twice as fast as max()
                        best = found
            most[state] = best


def _finished_first(graph: Graph, leaving: Sequence[Sequence[int]]) -> list[int]:
    """Order states so that each comes behind those that its steps lead to, circles left aside."""
    order: list[int] = []
    seen = set(graph.initial)
    work = [(state, iter(leaving[state])) for state in graph.initial]
    while work:
        state, places = work[-1]
        target = next((graph.edges[place].target for place in places if graph.edges[place].target not in seen), None)
        if target is None:
            order.append(state)
            work.pop()
        else:
            seen.add(target)
            work.append((target, iter(leaving[target])))
    return order


def _components(graph: Graph, leaving: Sequence[Sequence[int]]) -> list[int]:
    """Number the strongly connected component of each state.

    Source: R. Tarjan, "Depth-first search and linear graph algorithms", 1972; without recursion.
    """
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    component = [-1] * len(graph.states)
    targets_of = [[graph.edges[place].target for place in places] for places in leaving]
    stack: list[int] = []
    for root in graph.initial:
        if root in number:
            continue
        work: list[tuple[int, Iterator[int]]] = []
        _enter(root, targets_of, number, low, stack, work)
        while work:
            state, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if low[state] == number[state]:
                    _leave(state, stack, component)
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
            elif target not in number:
                _enter(target, targets_of, number, low, stack, work)
            elif component[target] < 0:
                low[state] = min(low[state], number[target])
    return component


def _enter(
    state: int,
    targets_of: Sequence[Sequence[int]],
    number: dict[int, int],
    low: dict[int, int],
    stack: list[int],
    work: list[tuple[int, Iterator[int]]],
) -> None:
    number[state] = low[state] = len(number)
    stack.append(state)
    work.append((state, iter(targets_of[state])))


def _leave(root: int, stack: list[int], component: list[int]) -> None:
    """Name a component after its root."""
    while True:
        state = stack.pop()
        component[state] = root
        if state == root:
            return
