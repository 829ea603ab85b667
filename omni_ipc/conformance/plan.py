"""Where to go next in a state graph, so that few long runs take every step of it.

Each run begins in an initial state, so it should take as many steps that nobody has taken as it can. What lies ahead is
known by strongly connected component: how many steps out of it are still to be taken, and how many lead to components
that have some. A component with neither is done, and nobody goes there again. Among the ways that are left the one
counts most on which most steps are left; that is counted anew now and then, for it takes longer than a run.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Collection, Iterator, Sequence

from omni_ipc.conformance.graph import Graph

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
        self.left = set(range(len(graph.edges))) - set(skipped)
        self._leaving = [[place for place in leaving if place in self.left] for leaving in graph.leaving]
        self._component = _components(graph, self._leaving)
        self._into: list[list[int]] = [[] for _ in graph.states]  # components from which a step leads into this one
        self._ahead = [0] * len(graph.states)  # by component: steps to take, and ways to others that have some
        for place in self.left:
            edge = graph.edges[place]
            source, target = self._component[edge.source], self._component[edge.target]
            self._ahead[source] += 1
            if source != target:
                self._ahead[source] += 1
                self._into[target].append(source)
        for component in set(self._component):
            if self._ahead[component] == 0:
                self._close(component)
        self._from_the_end = _finished_first(graph, self._leaving)
        self._most = [0] * len(graph.states)  # of each state, how many steps may be left on a way from it
        self._counted = 0

    def first(self) -> int | None:
        """Give an initial state that has something ahead, for a run; None if all is done."""
        if self._counted <= 0:
            self._count()
            self._counted = len(self._graph.edges)
        self._counted -= _COUNTED_A_RUN
        return next((state for state in self._graph.initial if self._ahead[self._component[state]]), None)

    def next(self, state: int) -> int | None:
        """Give the step to take in a state: one that is left, or the first on the way to one; None if none is ahead."""
        own = self._component[state]
        if not self._ahead[own]:
            return None
        edges, component, best, most = self._graph.edges, self._component, None, -1.0
        for place in self._leaving[state]:
            target, is_left = edges[place].target, place in self.left
            if is_left or (component[target] != own and self._ahead[component[target]]):
                promise = is_left + self._most[target] + self._lot.random()
                if promise > most:
                    best, most = place, promise
        return self._way(state) if best is None else best

    def take(self, place: int) -> None:
        """Note that a step was taken, or is given up."""
        if place in self.left:
            self.left.remove(place)
            self._lower(self._component[self._graph.edges[place].source])

    def _way(self, state: int) -> int | None:
        """The first step of a shortest way, within the component, to a step that is left or leads to more."""
        own = self._component[state]
        seen, border = {state}, deque([(state, -1)])
        while border:
            at, first = border.popleft()
            for place in self._lot.sample(self._leaving[at], len(self._leaving[at])):
                target = self._graph.edges[place].target
                begun = place if first < 0 else first
                if place in self.left or (self._component[target] != own and self._ahead[self._component[target]]):
                    return begun
                if target not in seen and self._component[target] == own:
                    seen.add(target)
                    border.append((target, begun))
        return None

    def _count(self) -> None:
        """Count the most steps that are left on a way from each state; in circles only about that many."""
        edges, most, left = self._graph.edges, self._most, self.left
        for state in self._from_the_end:
            best = 0
            for place in self._leaving[state]:
                target = edges[place].target
                if target != state:
                    best = max(best, most[target] + (place in left))
            most[state] = best

    def _lower(self, component: int) -> None:
        self._ahead[component] -= 1
        if self._ahead[component] == 0:
            self._close(component)

    def _close(self, component: int) -> None:
        """Nothing is ahead there any more: so many ways less for those who lead there."""
        closed = [component]
        while closed:
            done = closed.pop()
            into, self._into[done] = self._into[done], []
            for source in into:
                self._ahead[source] -= 1
                if self._ahead[source] == 0:
                    closed.append(source)


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
