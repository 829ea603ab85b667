"""Random small programs with faults and early timers: a reduced search sees exactly what brute force sees."""

from __future__ import annotations

import pytest

from omni_ipc.testbed import STRATEGIES, explore, replay, shrink
from omni_ipc.testbed.faults import Cancel, EarlyTimers, Fault, Hook, Kill, LateMessage, SpuriousWakeup
from omni_ipc.testbed.runner import Runner
from tests.testbed.conftest import Tell
from tests.testbed.programs import FAULTY, all_that, draw, scenario_of

FAULTS: tuple[tuple[Fault, ...], ...] = (
    (EarlyTimers(1),),
    (EarlyTimers(3),),
    (Kill("t0"),),
    (SpuriousWakeup(),),
    (Cancel(),),
    (LateMessage(),),
    (Hook("memory full"),),
    (Kill("t1"), EarlyTimers(1)),
    (Cancel(), SpuriousWakeup(2)),
)
PROGRAMS = 180
CHUNKS = 4
BRUTE_RUNS = 350  # programs that have more schedules are left out


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_reduction_loses_nothing_of_what_faults_bring_about(chunk: int, tell_seeds: Tell) -> None:
    """The outcomes and the failures are those of brute force, for the search by races and for sleep sets alone."""
    seeds = range(chunk, PROGRAMS, CHUNKS)
    compared = compare(seeds, ("dpor", "depth-first")[chunk % 2])
    tell_seeds(seeds, compared)
    assert compared >= len(seeds) * 0.5


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("strategy", ["dpor", "depth-first"])
def test_reduction_loses_nothing_of_what_faults_bring_about_in_many_programs(strategy: str, tell_seeds: Tell) -> None:
    """The same over 1,400 further programs, larger ones among them."""
    seeds = range(PROGRAMS, PROGRAMS + 1_400)
    compared = compare(seeds, strategy, runs=3_000)
    tell_seeds(seeds, compared)
    assert compared >= len(seeds) * 0.6


def compare(seeds: range, strategy: str, runs: int = BRUTE_RUNS) -> int:
    """Hold a reduced search against brute force, and count the programs small enough for it.

    Where a bound has left something out of its own runs, it may see less: what is left out depends on their order.
    """
    compared = 0
    for seed in seeds:
        program, faults = draw(seed, FAULTY), FAULTS[seed % len(FAULTS)]
        with Runner(scenario_of(program), faults=faults) as runner:
            brute = all_that(runner, STRATEGIES["brute-force"](0), runs)
            if not brute.exhausted:
                continue
            reduced = all_that(runner, STRATEGIES[strategy](0), runs)
        compared += 1
        assert reduced.exhausted, (seed, program)
        assert reduced.outcomes <= brute.outcomes, (seed, program)
        assert reduced.failures <= brute.failures, (seed, program)
        if not reduced.curtailed:
            assert reduced.outcomes == brute.outcomes, (seed, program)
            assert reduced.failures == brute.failures, (seed, program)
    return compared


def test_what_faults_bring_about_replays_and_shrinks() -> None:
    """A failure that needs a fault replays with it, from its trace alone, step for step, and does not grow."""
    failed = faulty = 0
    for seed in range(54):
        scenario = scenario_of(draw(seed, FAULTY))
        report = explore(scenario, strategy="random", runs=20, seed=seed, faults=FAULTS[seed % len(FAULTS)])
        if report.trace is None:
            continue
        failed += 1
        faulty += any(step.action.startswith(("fault.", "time.")) for step in report.trace.steps)
        again = replay(scenario, report.trace)
        assert (again.diverged, again.failure) == (None, report.failure), seed
        assert len(shrink(scenario, report.trace).steps) <= len(report.trace.steps), seed
    assert failed >= 6
    assert faulty >= 2
