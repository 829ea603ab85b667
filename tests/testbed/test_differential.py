"""Random small programs: a reduced search sees exactly what brute force sees."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from omni_ipc.records import MemoryOrder
from omni_ipc.testbed import STRATEGIES, explore, replay, shrink
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.faults.names import parse
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.runner import Runner, Scenario
from omni_ipc.testbed.strategies import Strategy
from omni_ipc.testbed.strategies.depth_first import DepthFirst
from omni_ipc.testbed.strategies.preemption_bounded import PreemptionBounded
from omni_ipc.testbed.tasks import Task
from tests.testbed.conftest import Tell
from tests.testbed.programs import FAMILIES, STORES, THEMES, Everything, all_that, draw, everything, scenario_of

PROGRAMS = 2_000
CHUNKS = 16
BRUTE_RUNS = 200  # programs that have more schedules are left out
LARGER = 1_000  # the same, where fewer programs are compared
EXHAUSTIVE = ("dpor", "depth-first", "portfolio")
SAMPLERS = ("random", "urw", "pos", "pct", "surw", "sampling", "delay-bounded", "preemption-bounded")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_reduced_search_loses_nothing_and_repeats_nothing(chunk: int, tell_seeds: Tell) -> None:
    """The outcomes, the failures and the orders are those of brute force, and no order is run twice."""
    seeds = range(chunk, PROGRAMS, CHUNKS)
    compared = compare(seeds)
    tell_seeds(seeds, compared)
    assert compared >= len(seeds) * 0.85


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_reduced_search_loses_nothing_on_ten_thousand_programs(tell_seeds: Tell) -> None:
    """The same over further programs, larger ones among them."""
    seeds = range(PROGRAMS, PROGRAMS + 10_000)
    compared = compare(seeds, LARGER)
    tell_seeds(seeds, compared)
    assert compared >= len(seeds) * 0.95


def compare(seeds: range, most: int = BRUTE_RUNS) -> int:
    """Hold the reduced searches against brute force, and count the programs with at most so many schedules."""
    compared = 0
    for seed in seeds:
        program = draw(seed)
        with Runner(scenario_of(program)) as runner:
            brute = all_that(runner, STRATEGIES["brute-force"](seed), most)
            if not brute.exhausted:
                continue
            compared += 1
            for strategy in EXHAUSTIVE:
                found = all_that(runner, STRATEGIES[strategy](seed), 3 * most)
                assert found.exhausted, (strategy, seed, program)
                assert sights(found) == sights(brute), (strategy, seed, program)
                assert strategy == "portfolio" or found.whole == len(found.orders), (strategy, seed, program)
    return compared


def sights(found: Everything) -> tuple[set[str], set[tuple[str, str]], set[int]]:
    return found.outcomes, found.failures, found.orders


def test_races_with_tasks_that_others_start_are_turned_round() -> None:
    """A task cannot be let go before the step that starts it, but that step can."""
    assert hold_against_depth_first(range(60), FAMILIES) >= 40


@pytest.mark.parametrize("memory", [MemoryOrder.TSO, MemoryOrder.RELEASE, MemoryOrder.WEAK])
def test_races_with_late_stores_are_turned_round(memory: MemoryOrder) -> None:
    """What moves stores to memory takes part in races as tasks do."""
    assert hold_against_depth_first(range(15), STORES, memory=memory) >= 8


@pytest.mark.parametrize("fault", ["timers", "spurious", "kill:t0", "cancel"])
def test_races_with_faults_are_turned_round(fault: str) -> None:
    """A fault that has happened in no run yet is let happen wherever it matters; so is time that passes early."""
    assert hold_against_depth_first(range(15), THEMES, faults=[parse(fault)]) >= 10


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_races_with_faults_and_late_stores_are_turned_round_in_thousands_of_programs(tell_seeds: Tell) -> None:
    """The same over many more programs."""
    seeds = range(40, 500)
    for fault in ("timers", "spurious", "kill:t0", "cancel"):
        compared = hold_against_depth_first(seeds, THEMES, faults=[parse(fault)])
        tell_seeds(seeds, compared)
        assert compared >= 300
    for memory in (MemoryOrder.TSO, MemoryOrder.RELEASE, MemoryOrder.WEAK):
        compared = hold_against_depth_first(seeds, STORES, memory=memory)
        tell_seeds(seeds, compared)
        assert compared >= 300


def hold_against_depth_first(
    seeds: range,
    themes: Sequence[tuple[str, ...]],
    memory: MemoryOrder = MemoryOrder.SC,
    faults: Sequence[Fault] = (),
) -> int:
    """Hold DPOR against the depth-first search, and count the programs that are small enough."""
    compared = 0
    for seed in seeds:
        program = draw(seed, themes)
        known = everything(program, "depth-first", runs=LARGER, memory=memory, faults=faults)
        if known.exhausted:
            compared += 1
            found = everything(program, "dpor", runs=3 * LARGER, memory=memory, faults=faults)
            assert found.exhausted, (seed, program)
            assert (found.outcomes, found.failures) == (known.outcomes, known.failures), (seed, program)
            # With faults, a run may end before one of them that touches nothing: such orders are counted at will.
            assert faults or found.orders == known.orders, (seed, program)
    return compared


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_what_some_schedules_show_all_schedules_show(strategy: str) -> None:
    """What a sampler finds, or a bounded search, is a subset of what there is."""
    for seed in range(12):
        program = draw(seed)
        brute = everything(program, "depth-first", runs=LARGER)
        if brute.exhausted:
            found = everything(program, strategy, runs=15, seed=seed)
            for some, every in zip(sights(found), sights(brute), strict=True):
                assert some <= every, (seed, program)


class FewPreemptions(DepthFirst):
    """All schedules with so many preemptions, by brute force."""

    def __init__(self, most: int) -> None:
        super().__init__(reduce=False)
        self._most = most
        self._able: list[set[int]] = []  # who could take each step of the run

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        path = [*kernel.order]
        before = self._able[: len(path)]
        self._able = [*before, {task.index for task in enabled}]
        spent = sum(path[k - 1] in self._able[k] and path[k] != path[k - 1] for k in range(1, len(path)))
        if path and spent >= self._most and path[-1] in self._able[-1]:
            enabled = [task for task in enabled if task.index == path[-1]]
        return super().choose(kernel, enabled)


@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_bound_on_preemptions_leaves_out_nothing_within_it(most: int) -> None:
    """Each outcome and each kind of failure that so many preemptions can lead to is found."""
    compared = 0
    for seed in range(60):
        scenario = scenario_of(draw(seed))
        every, reduced = FewPreemptions(most), PreemptionBounded(most)
        known, found = sights_of(scenario, every), sights_of(scenario, reduced)
        if every.exhausted and every.runs < LARGER:
            compared += 1
            assert known <= found, seed
    assert compared >= 30


def sights_of(scenario: Scenario, search: Strategy) -> set[str]:
    """Run a search to its end, or for a while, and return the outcomes and the kinds of failures."""
    sights = set()
    with Runner(scenario) as runner:
        while (prefix := search.next_prefix()) is not None and search.runs < LARGER:
            run = runner.run(search, prefix)
            search.learn(run)
            sights.add(repr(run.value) if run.failure is None else run.failure.kind.value)
    return sights


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


def test_every_strategy_is_held_against_brute_force() -> None:
    """None is left out above."""
    assert set(STRATEGIES) == {*EXHAUSTIVE, *SAMPLERS, "brute-force"}
