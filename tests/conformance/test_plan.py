"""Where a walk goes next: every step of any graph is taken, in runs that go on as long as they can."""

from __future__ import annotations

import random

import pytest

from omni_ipc.conformance.graphs.graph import Graph, Label, graph_file
from omni_ipc.conformance.models import manifest
from omni_ipc.conformance.walks.plan import Plan


def drawn(seed: int) -> Graph:
    """A graph of up to twelve states, with circles, loops and several steps between two states."""
    lot = random.Random(seed)
    count = lot.randint(1, 12)
    reached, steps = [0], []
    for state in range(1, count):
        steps.append((lot.choice(reached), state))
        reached.append(state)
    steps += [(lot.randrange(count), lot.randrange(count)) for _ in range(lot.randint(0, 2 * count))]
    labelled = [((source,), Label("A", (("n", lot.randint(1, 2)),)), (target,)) for source, target in steps]
    return Graph(["state"], [(state,) for state in range(count)], [(0,)], labelled)


def walked(graph: Graph, plan: Plan, most: int = 10_000) -> tuple[list[int], int]:
    """Follow a plan to its end; the steps that were taken, and the number of runs."""
    taken, runs = [], 0
    while (state := plan.first()) is not None:
        runs += 1
        while (place := plan.next(state)) is not None:
            assert graph.edges[place].source == state
            plan.take(place)
            taken.append(place)
            state = graph.edges[place].target
            assert len(taken) < most
    return taken, runs


@pytest.mark.parametrize("part", range(10))
def test_every_step_of_any_graph_is_taken(part: int) -> None:
    """Whatever its circles; no run is for nothing."""
    for seed in range(100 * part, 100 * part + 100):
        graph = drawn(seed)
        taken, runs = walked(graph, Plan(graph, (), random.Random(seed)))
        assert set(taken) == set(range(len(graph.edges))), seed
        assert runs <= max(1, len(graph.edges)), seed


def test_skipped_steps_are_left_out() -> None:
    """They lead nowhere, either."""
    graph = drawn(7)
    skipped = {place for place, edge in enumerate(graph.edges) if edge.label.params == (("n", 1),)}
    taken, _ = walked(graph, Plan(graph, skipped, random.Random(0)))
    assert not skipped & set(taken)


def test_a_line_is_one_run_and_a_star_one_for_each_ray() -> None:
    """Nothing is walked twice without need."""
    step = Label("A")
    line = Graph(["s"], [(n,) for n in range(9)], [(0,)], [((n,), step, (n + 1,)) for n in range(8)])
    star = Graph(["s"], [(n,) for n in range(9)], [(0,)], [((0,), step, (n,)) for n in range(1, 9)])
    assert [walked(graph, Plan(graph, (), random.Random(0)))[1] for graph in (line, star)] == [1, 8]


def test_no_walk_takes_fewer_steps() -> None:
    """Of a large graph without circles: 13,004 is the least number of steps, as a solver of linear programs has it."""
    graph = Graph.load(graph_file(manifest.load().folder, "ShutdownSalvage"))
    ends = {place for place, edge in enumerate(graph.edges) if edge.label.action == "Terminating"}
    taken, _ = walked(graph, Plan(graph, ends, random.Random(0)), most=20_000)
    assert set(taken) == set(range(len(graph.edges))) - ends
    assert len(taken) == 13_004


def test_most_new_steps_come_first() -> None:
    """A walk that has no time for all takes few steps twice at the beginning."""
    graph = Graph.load(graph_file(manifest.load().folder, "ShutdownSalvage"))
    taken, _ = walked(graph, Plan(graph, (), random.Random(0)), most=20_000)
    assert len(set(taken[:2_000])) > 1_200


def test_what_is_given_up_ends_the_plan() -> None:
    """A step that the code never takes does not keep it going."""
    graph = drawn(3)
    plan = Plan(graph, (), random.Random(0))
    for place in range(len(graph.edges)):
        plan.take(place)
        plan.take(place)
    assert plan.first() is None
