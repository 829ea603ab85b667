"""Random small programs whose stores are seen late: the reduction loses nothing, and weaker orders show more."""

from __future__ import annotations

import itertools

import pytest

from omni_ipc.records import MemoryOrder
from omni_ipc.testbed import explore, replay, shrink
from tests.testbed.conftest import Tell
from tests.testbed.programs import STORES, Everything, Program, draw, everything, scenario_of

PROGRAMS = 40
BRUTE_RUNS = 200  # programs that have more schedules are left out

TELLING: tuple[tuple[Program, MemoryOrder], ...] = (
    ((("x then y",), ("y then x",)), MemoryOrder.TSO),
    ((("publish",), ("take",)), MemoryOrder.WEAK),
    ((("store in region",), ("take",)), MemoryOrder.TSO),
)
"""Programs that show more under an order than under the one before it."""


def compared(seed: int, program: Program, memory: MemoryOrder, *, runs: int) -> Everything | None:
    """Hold the reduced search against brute force, and return what they saw; None if that is too much."""
    brute = everything(program, "brute-force", runs=runs, memory=memory)
    if not brute.exhausted:
        return None
    reduced = everything(program, "depth-first", runs=runs, memory=memory)
    assert reduced.exhausted, (seed, memory, program)
    assert reduced.outcomes == brute.outcomes, (seed, memory, program)
    assert reduced.failures == brute.failures, (seed, memory, program)
    assert reduced.orders == brute.orders, (seed, memory, program)
    assert reduced.whole == len(reduced.orders), (seed, memory, program)
    return brute


def hold_against_each_other(seeds: range, *, runs: int) -> tuple[int, int]:
    """Compare searches and memory orders, and return how many were compared, and how often a weaker one showed more."""
    number = grew = 0
    for seed in seeds:
        program = draw(seed, STORES)
        found = [compared(seed, program, memory, runs=runs) for memory in MemoryOrder]
        for strong, weak in itertools.pairwise(found):
            if strong is not None and weak is not None:
                assert strong.outcomes <= weak.outcomes, (seed, program)
                assert strong.failures <= weak.failures, (seed, program)
                grew += strong.outcomes < weak.outcomes
                number += 1
    return number, grew


def test_sleep_sets_lose_nothing_under_any_memory_order() -> None:
    """Outcomes, failures and orders are those of brute force, and each order shows all that the ones above it do."""
    number, _ = hold_against_each_other(range(PROGRAMS), runs=BRUTE_RUNS)
    assert number >= PROGRAMS // 2


@pytest.mark.parametrize(("program", "first"), TELLING)
def test_a_program_tells_memory_orders_apart(program: Program, first: MemoryOrder) -> None:
    """It shows the same under each order above a certain one, and more from there on."""
    seen = {memory: compared(0, program, memory, runs=1_000) for memory in MemoryOrder}
    assert None not in seen.values()
    counts = [len(found.outcomes) for found in seen.values() if found is not None]
    above = list(MemoryOrder).index(first)
    assert len(set(counts[:above])) == len(set(counts[above:])) == 1, counts
    assert counts[above] > counts[above - 1]


@pytest.mark.soak
@pytest.mark.timeout(1_200)
def test_sleep_sets_lose_nothing_under_any_memory_order_in_long_programs(tell_seeds: Tell) -> None:
    """The same, over many more programs, each under all pairs of orders, one below the other."""
    seeds = range(1_000, 1_140)
    number, grew = hold_against_each_other(seeds, runs=3_000)
    tell_seeds(seeds, number // (len(MemoryOrder) - 1))
    assert number >= 190
    assert grew >= 5


def test_what_fails_under_weak_memory_replays_and_shrinks() -> None:
    """Each failure that is found in a random program replays step for step, and its trace does not grow."""
    failed = 0
    for seed in range(150):
        scenario = scenario_of(draw(seed, STORES))
        report = explore(scenario, strategy="random", runs=10, seed=seed, memory="weak")
        if report.trace is None:
            continue
        failed += 1
        again = replay(scenario, report.trace)
        assert (again.diverged, again.failure) == (None, report.failure)
        assert len(shrink(scenario, report.trace).steps) <= len(report.trace.steps)
    assert failed >= 3
