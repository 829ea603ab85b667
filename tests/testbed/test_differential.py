"""Random small programs: a reduced search sees exactly what brute force sees."""

from __future__ import annotations

import pytest

from omni_ipc.testbed import explore, replay, shrink
from tests.testbed.programs import draw, everything, scenario_of

PROGRAMS = 400
CHUNKS = 8
BRUTE_RUNS = 1_000  # programs that have more schedules are left out


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_sleep_sets_lose_nothing_and_repeat_nothing(chunk: int) -> None:
    """The outcomes, the failures and the orders are those of brute force, and no order is run twice."""
    seeds = range(chunk, PROGRAMS, CHUNKS)
    assert compare(seeds) >= len(seeds) * 0.6


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_sleep_sets_lose_nothing_on_thousands_of_programs() -> None:
    """The same over 5,000 further programs."""
    seeds = range(PROGRAMS, PROGRAMS + 5_000)
    assert compare(seeds) >= len(seeds) * 0.6


def compare(seeds: range) -> int:
    """Hold the reduced search against brute force, and count the programs small enough for it."""
    compared = 0
    for seed in seeds:
        program = draw(seed)
        brute = everything(program, "brute-force", runs=BRUTE_RUNS)
        if not brute.exhausted:
            continue
        reduced = everything(program, "depth-first", runs=BRUTE_RUNS)
        compared += 1
        assert reduced.exhausted, (seed, program)
        assert reduced.outcomes == brute.outcomes, (seed, program)
        assert reduced.failures == brute.failures, (seed, program)
        assert reduced.orders == brute.orders, (seed, program)
        assert reduced.whole == len(reduced.orders), (seed, program)
    return compared


def test_a_random_walk_sees_nothing_that_brute_force_does_not() -> None:
    """What a sampler finds is a subset."""
    for seed in range(40):
        program = draw(seed)
        brute = everything(program, "brute-force", runs=BRUTE_RUNS)
        if brute.exhausted:
            sampled = everything(program, "random", runs=20, seed=seed)
            assert sampled.outcomes <= brute.outcomes, (seed, program)
            assert sampled.failures <= brute.failures, (seed, program)


def test_what_fails_replays_and_shrinks() -> None:
    """Each failure that is found in a random program replays step for step, and its trace does not grow."""
    failed = 0
    for seed in range(100):
        scenario = scenario_of(draw(seed))
        report = explore(scenario, strategy="random", runs=30, seed=seed)
        if report.trace is None:
            continue
        failed += 1
        again = replay(scenario, report.trace)
        assert (again.diverged, again.failure) == (None, report.failure)
        assert len(shrink(scenario, report.trace).steps) <= len(report.trace.steps)
    assert failed >= 10
