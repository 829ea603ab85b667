"""Where to go next in a state graph, so that few long runs take every step of it.

Each run begins in an initial state, so it should be as long as it can: it takes steps that nobody has taken as long as
there are any ahead. What lies ahead is known by strongly connected component: how many steps out of it are still to be
taken, and how many lead to components that have some. A component with neither is done, and nobody goes there again.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Collection, Iterator, Sequence

from omni_ipc.conformance.graph import Graph


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

    def first(self) -> int | None:
        """Give an initial state that has something ahead; None if all is done."""
        return next((state for state in self._graph.initial if self._ahead[self._component[state]]), None)

    def next(self, state: int) -> int | None:
        """Give the step to take in a state: one that is left, or the first on the way to one; None if none is ahead."""
        if not self._ahead[self._component[state]]:
            return None
        left = [place for place in self._leaving[state] if place in self.left]
        return max(left, key=self._promise) if left else self._way(state)

    def _promise(self, place: int) -> tuple[int, float]:
        """How many steps are left where a step leads: the more, the longer the run may become."""
        left = sum(after in self.left for after in self._leaving[self._graph.edges[place].target])
        return left, self._lot.random()

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
