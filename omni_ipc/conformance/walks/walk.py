"""Code against a state graph, both ways: in every state the same steps, after every step the same state.

    model   s ── PumpDeliver(output="1") ──► t            every state, every step
            │                                │
    code    ▼    task "pump", Pump.Deliver   ▼            the same projection; no step more, and none less

Code takes finer steps than the model. Those that it does not speak of are *internal*: they are taken at once, as long
as there are any, in an order that is tried out: whichever it is, the model must not notice. Time passes only where the
model wants a step, and nobody can go on.
"""

from __future__ import annotations

import enum
import functools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from omni_ipc.conformance.counterexamples.replay import Offer
from omni_ipc.conformance.walks.divergence import Diverged, Divergence, Kind
from omni_ipc.conformance.walks.plan import Plan
from omni_ipc.conformance.walks.reference import Reference
from omni_ipc.conformance.walks.stand import Choose, Run, Stand
from omni_ipc.values import Value

_IDLE_RUNS = 30
"""Runs that bring nothing new before what is left is given up: the model leaves it open, and the code never chose."""

Begin = Callable[[Mapping[str, Value]], AbstractContextManager[Run]]
"""Begins a run of the same code, in an initial state of the model."""


class Order(enum.StrEnum):
    """Which of several internal steps comes first."""

    OLDEST = "oldest"  # the oldest task's
    YOUNGEST = "youngest"
    DRAWN = "drawn"  # by lot


class Walker:
    """Walks code along a graph.

    Args:
        begin: begins a run of the code.
        order, seed: in which order internal steps are taken.

    Attributes:
        times: how often each step was taken, by its place in the graph's edges.
        never: those that the code did not take when it was brought there: the model leaves open what follows.
        steps: of the code, internal ones included.
        runs: from the beginning.
    """

    def __init__(self, reference: Reference, begin: Begin, *, order: Order = Order.OLDEST, seed: int = 0) -> None:
        self.times: Counter[int] = Counter()
        self.never: set[int] = set()
        self.steps = self.runs = 0
        self._reference = reference
        self._longest_way = len(reference.graph.states)  # to a step that is left; longer ones the code does not choose
        self._begin = begin
        self._lot = random.Random(seed)
        self._choose = _choice(order, self._lot)

    @property
    def taken(self) -> set[int]:
        """Places in the graph's edges of the steps that were taken."""
        return set(self.times)

    def cover(self, *, enough: Callable[[], bool] = lambda: False) -> Divergence | None:
        """Take every step of the graph, or as many as there is time for; stop at the first divergence.

        Args:
            enough: asked before each run.
        """
        plan = Plan(self._reference.graph, self._reference.termination, self._lot)
        idle = 0
        while (start := plan.first()) is not None and not enough():
            before = len(self.times)
            if (found := self._walk(start, functools.partial(self._go, start, plan))) is not None:
                return found
            idle = idle + 1 if len(self.times) == before else 0
            if idle > _IDLE_RUNS:
                self.never |= plan.left
                break
        return None

    def along(self, start: int, path: Sequence[int]) -> Divergence | None:
        """Follow one path, given as places in the graph's edges; compare in each state, and tell places in code."""

        def follow(stand: Stand) -> None:
            stand.begin(start)
            state = start
            for place in path:
                if stand.chosen(place) != place or stand.take(place) != place:
                    return  # the code may, and goes another way
                state = self._reference.graph.edges[place].target
            stand.end(state)

        return self._walk(start, follow, located=True)

    def _go(self, state: int, plan: Plan, stand: Stand) -> None:
        """Take steps that are left, as long as there are any ahead."""
        stand.begin(state)
        useful = 0
        while (place := plan.next(state)) is not None and len(stand.walked) <= useful + self._longest_way:
            arrived = stand.take(stand.chosen(place))
            useful = useful if arrived in self.times else len(stand.walked)
            plan.take(arrived)
            self.times[arrived] += 1
            state = stand.walked[-1].target
        stand.end(state)

    def _walk(self, start: int, go: Callable[[Stand], None], *, located: bool = False) -> Divergence | None:
        self.runs += 1
        with self._begin(self._reference.graph.named(start)) as run:
            stand = Stand(run, self._reference, self._choose, located=located)
            try:
                go(stand)
            except Diverged as diverged:
                return diverged.divergence
            finally:
                self.steps += stand.steps
        return None


def shortest(walker: Walker, found: Divergence, reference: Reference, enough: Callable[[], bool]) -> Divergence:
    """Look for a divergence that fewer steps lead to; the places in the code are told of the one that is returned.

    Every step that begins nearer than the divergence that was found is taken on a shortest way to it, the nearest
    first. What shows only on a longer way stays as it was found.

    Args:
        enough: asked before each try.
    """
    graph = reference.graph
    steps = (place for places in reference.steps for place in places)
    for place in sorted(steps, key=lambda place: graph.depths[graph.edges[place].source]):
        source = graph.edges[place].source
        if graph.depths[source] + 1 >= len(found.path) or enough():
            break
        way = [*graph.path(source), place]
        if (nearer := walker.along(graph.edges[way[0]].source, way)) is not None:
            return nearer
    start = found.path[0].source if found.path else graph.initial[0]
    places = {edge: place for place, edge in enumerate(graph.edges)}
    return walker.along(start, [places[edge] for edge in found.path]) or found


def never_taken(place: int, reference: Reference) -> Divergence:
    """Tell of a step that the code did not choose, of several that the model leaves open."""
    graph = reference.graph
    edge = graph.edges[place]
    way = tuple(graph.edges[each] for each in graph.path(edge.source))
    why = f"The code could choose it, by the model, and in {_IDLE_RUNS} runs never did."
    return Divergence(Kind.NEVER, (*way, edge), edge.label, why)


def _choice(order: Order, lot: random.Random) -> Choose:
    def drawn(offers: Sequence[Offer]) -> Offer:
        return lot.choice(offers)

    return {Order.OLDEST: lambda offers: offers[0], Order.YOUNGEST: lambda offers: offers[-1], Order.DRAWN: drawn}[
        order
    ]
