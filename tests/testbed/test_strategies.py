"""What each strategy does with its chances, and what it says of itself."""

from __future__ import annotations

from collections import Counter

import pytest

from omni_ipc.errors import Inconclusive
from omni_ipc.records import Verdict
from omni_ipc.testbed import STRATEGIES, ControlledRuntime, explore
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.delay_bounded import DelayBounded
from omni_ipc.testbed.strategies.estimate import runs_left
from omni_ipc.testbed.strategies.novelty import WINDOW, Novelty
from omni_ipc.testbed.strategies.pct import PriorityWalk
from omni_ipc.testbed.strategies.portfolio import Portfolio
from omni_ipc.testbed.strategies.sampling import Sampling
from tests.testbed.kernels import Counter as Cell
from tests.testbed.kernels import and_join, independent, lost_update, philosophers


def sampled(scenario: object, strategy: str, runs: int) -> Counter[tuple[int, ...]]:
    """Count the schedules that a sampler takes."""
    search, schedules = STRATEGIES[strategy](0), Counter[tuple[int, ...]]()
    with Runner(scenario, declared=True) as runner:  # type: ignore[arg-type]
        for _ in range(runs + 1):
            prefix = search.next_prefix()
            assert prefix is not None
            run = runner.run(search, prefix)
            search.learn(run)
            if search.runs > 1:  # the first one is in the default order
                schedules[tuple(run.order)] += 1
    return schedules


def lopsided(rt: ControlledRuntime) -> None:
    """One task takes one step, and another one six."""

    def walk(steps: int) -> None:
        for _ in range(steps):
            with rt.region("Step"):
                pass

    with rt.region("Start"):
        rt.spawn(walk, 1, name="a")
        rt.spawn(walk, 6, name="b")


def test_urw_takes_each_schedule_about_as_often_as_the_others() -> None:
    """Of seven schedules, each has a seventh; a random walk gives half of its runs to one."""
    uniform, random = sampled(lopsided, "urw", 1400), sampled(lopsided, "random", 1400)
    assert len(uniform) == len(random) == 7
    assert 140 <= min(uniform.values()) <= max(uniform.values()) <= 260
    assert max(random.values()) >= 600


def test_surw_takes_each_order_of_the_steps_that_matter_about_as_often_as_the_others() -> None:
    """However many steps that touch nothing lie before the one that does."""

    def scenario(rt: ControlledRuntime) -> None:
        word = rt.words(memoryview(bytearray(8)))

        def write(idle: int) -> None:
            for _ in range(idle):
                with rt.region("Idle"):
                    pass
            word.store(0, idle)

        and_join(rt, lambda: write(0), lambda: write(12))

    def share(strategy: str) -> float:
        orders = sampled(scenario, strategy, 400)
        return sum(count for order, count in orders.items() if is_late(order)) / 400

    assert 0.35 <= share("surw") <= 0.65
    assert share("random") <= 0.05


def is_late(order: tuple[int, ...]) -> bool:
    """Tell whether the one step of task 1 comes after all of task 2."""
    return order.index(1) > max(step for step, task in enumerate(order) if task == 2)


def test_pct_tells_its_bound() -> None:
    """Tasks, steps and depth are those of the run in the default order, and it is about runs that are no longer."""
    report = explore(lopsided, strategy="pct", runs=30, seed=4)
    assert "PCT-3, seed 4" in report.reason
    assert report.reason.endswith(
        "a probability of at least 1 / (3 x 8^2) = 5.2e-03, where runs take at most 8 steps of 3 tasks, as the first "
        "one did"
    )


def test_pct_keeps_its_bound() -> None:
    """A fault of depth 2 among 3 tasks of 9 steps shows in one of 27 runs at least."""
    search = PriorityWalk(0, depth=2)
    found = 0
    with Runner(philosophers) as runner:
        for _ in range(271):
            prefix = search.next_prefix()
            assert prefix is not None
            run = runner.run(search, prefix)
            search.learn(run)
            found += run.failure is not None
    assert found >= 10


def test_pos_draws_anew_for_who_loses_a_race() -> None:
    """Each of the four orders of two unguarded increments comes, though one task's priority would keep it ahead."""
    assert explore(lost_update, strategy="pos", runs=60).traces == 4


def test_no_delay_is_the_default_order_and_each_more_adds_schedules() -> None:
    """Bounds are told; one that cuts nothing off is none."""
    runs = []
    for delays in range(4):
        search = DelayBounded(delays)
        with Runner(independent(2, 2)) as runner:
            while (prefix := search.next_prefix()) is not None:
                search.learn(runner.run(search, prefix))
        runs.append((search.runs, search.exhausted))
    assert runs == [(1, False), (3, False), (5, False), (6, True)]
    assert explore(independent(1, 1), strategy="delay-bounded").reason == "the only schedule"
    bounded = explore(independent(2, 4), strategy="delay-bounded")
    assert bounded.verdict is Verdict.BOUNDED
    assert bounded.reason == f"all {bounded.schedules} schedules of at most 2 delays"


def test_a_bound_on_preemptions_is_told_and_is_none_if_it_cuts_nothing_off() -> None:
    """Two tasks with one step each need no preemption; with many, some orders need more than two."""

    def scenario(steps: int) -> object:
        def run(rt: ControlledRuntime) -> None:
            cell = Cell()
            rt.watch(cell, None, "Cell")

            def add() -> None:
                for _ in range(steps):
                    cell.value += 1

            and_join(rt, add, add)

        return run

    assert explore(scenario(1), strategy="preemption-bounded").verdict is Verdict.HOLDS  # type: ignore[arg-type]
    bounded = explore(scenario(2), strategy="preemption-bounded")  # type: ignore[arg-type]
    assert bounded.verdict is Verdict.BOUNDED
    assert bounded.reason == f"all {bounded.schedules} schedules of at most 2 preemptions"


def test_the_samplers_take_turns() -> None:
    """Any ten runs in a row hold five of SURW, two of POS and one each of the others."""
    turns = Counter(type(sampler).__name__ for sampler in Sampling(0)._turns)
    assert turns == {
        "SelectivelyUniformWalk": 5,
        "PartialOrderSampling": 2,
        "PriorityWalk": 1,
        "UniformWalk": 1,
        "RandomWalk": 1,
    }
    assert len(explore(lost_update, strategy="sampling", runs=30).outcomes) == 2


def test_run_number_n_of_a_seed_is_the_same_whoever_does_it() -> None:
    """Shared out between two, the schedules are those of one."""

    def orders(job: int, jobs: int, runs: int) -> list[tuple[int, ...]]:
        search = STRATEGIES["random"](3)
        search.shard(job, jobs)  # type: ignore[attr-defined]
        found = []
        with Runner(independent(3, 3)) as runner:
            for _ in range(runs):
                prefix = search.next_prefix()
                assert prefix is not None
                found.append(tuple(runner.run(search, prefix).order))
        return found

    alone, even, odd = orders(0, 1, 20), orders(0, 2, 10), orders(1, 2, 10)
    assert [order for pair in zip(even, odd, strict=True) for order in pair] == alone


def test_the_portfolio_ends_small_scenarios_and_counts_no_order_twice() -> None:
    """It holds as DPOR alone does, with the same traces."""
    for scenario in (lost_update, independent(3, 3)):
        report, alone = explore(scenario), explore(scenario, strategy="dpor")
        assert (report.verdict, report.traces) == (alone.verdict, alone.traces) == (Verdict.HOLDS, alone.schedules)


def many_orders(rt: ControlledRuntime) -> None:
    """Three tasks with four writes to one word each: 34,650 orders."""
    word = rt.words(memoryview(bytearray(8)))

    def write() -> None:
        for value in range(4):
            word.store(0, value)

    and_join(rt, write, write, write)


def test_a_reduced_search_that_missed_what_sampling_met_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is left out, and the report says so: all schedules were run, and no order is missing."""

    def queue_up(rt: ControlledRuntime) -> None:
        lock = rt.lock()

        def enter() -> None:
            with lock:
                pass

        and_join(rt, enter, enter, enter)

    whole = explore(queue_up)
    assert (whole.verdict, "none was left out" in whole.reason) == (Verdict.HOLDS, False)
    too_few = property(lambda portfolio: whole.traces - 1 if portfolio.reduces and portfolio.exhausted else None)
    monkeypatch.setattr(Portfolio, "searched", too_few)
    report = explore(queue_up)
    assert (report.verdict, report.traces) == (Verdict.HOLDS, whole.traces)
    assert report.reason == "all 28 schedules; none was left out, because not all that tasks share was seen"


def test_the_portfolio_says_what_it_did_when_it_could_not_do_all() -> None:
    """Each of its rounds is told, with its bound; and that sampling was of use to the end, or not."""
    report = explore(many_orders, runs=600)
    assert (report.verdict, report.schedules) == (Verdict.BOUNDED, 600)
    for part in (
        "runs of sampling by SURW, POS, PCT-3, URW and random walks, seed 0; ",
        " of the last 200 were new orders",
        " schedules of at most 1 delay",
        " schedules of dpor",
        " schedules of at most 2 preemptions",
        "runs was 600",
    ):
        assert part in report.reason, (part, report.reason)
    assert 300 < report.traces <= 600


def test_sampling_stops_when_it_finds_nothing_new() -> None:
    """A window with hardly anything new in it is enough; a few runs are not."""
    novelty = Novelty()
    for _ in range(WINDOW - 1):
        novelty.note(new=False)
    assert not novelty.is_spent
    novelty.note(new=True)
    assert novelty.is_spent
    assert str(novelty) == "1 of the last 200 were new orders"
    for _ in range(2):
        novelty.note(new=True)
    assert not novelty.is_spent


def test_what_is_left_of_a_search_is_estimated_by_what_was_seen() -> None:
    """In a binary tree of depth ten, whose left half is done, about as much is left."""
    assert runs_left(512, [(2, 2), *[(1, 2)] * 9]) == pytest.approx(512 * 511 / 513)
    report = explore(independent(2, 5), strategy="brute-force", runs=126)
    assert "more are left (about 126)" in report.reason


@pytest.mark.parametrize("strategy", ["dpor", "depth-first", "brute-force", "preemption-bounded", "portfolio"])
def test_a_scenario_that_is_not_the_same_twice_is_told(strategy: str) -> None:
    """Nothing is concluded from schedules that cannot be had again."""
    calls = iter(range(1_000_000))

    def scenario(rt: ControlledRuntime) -> None:
        locks = [rt.lock(), rt.lock()]

        def use() -> None:
            for _ in range(3):
                with locks[next(calls) // 5 % 2]:
                    pass

        and_join(rt, use, use)

    report = explore(scenario, strategy=strategy, declared=True)
    assert report.verdict is Verdict.INCONCLUSIVE, report.reason
    assert "ncontrolled nondeterminism" in report.reason
    assert issubclass(Inconclusive, Exception)
