"""A search that several processes share: together they run what one alone runs, and none of it twice."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import STRATEGIES, explore, jobs
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies import share_of, shared
from tests.testbed.conftest import Tell
from tests.testbed.programs import Everything, all_that, draw, scenario_of
from tests.testbed.test_differential import sights

PROGRAMS = 60
BRUTE_RUNS = 200
REDUCED = ("dpor", "depth-first")


@pytest.mark.parametrize(
    ("strategy", "shares", "decisions"),
    [("dpor", 2, 2), ("dpor", 3, 1), ("depth-first", 3, 2), ("brute-force", 2, 2), ("preemption-bounded", 2, 2)],
)
def test_all_shares_together_are_the_whole_search(
    strategy: str, shares: int, decisions: int, monkeypatch: pytest.MonkeyPatch, tell_seeds: Tell
) -> None:
    """Outcomes, failures and orders are those of one process; where nothing fails, no order is counted twice.

    Few decisions are shared, as these programs are small: most of each is searched by one alone.
    """
    monkeypatch.setattr(shared, "_DECISIONS", decisions)
    seeds, compared = range(PROGRAMS), 0
    for seed in seeds:
        with Runner(scenario_of(draw(seed))) as runner:
            brute = all_that(runner, STRATEGIES["brute-force"](seed), BRUTE_RUNS)
            if not brute.exhausted:
                continue
            compared += 1
            searches = [share_of(strategy, 0, job, shares) for job in range(shares)]
            found = [all_that(runner, search, 10 * BRUTE_RUNS) for search in searches]
            assert all(search.ended for search in searches), seed
            together = union(found)
            if strategy == "preemption-bounded":
                alone = sights(all_that(runner, STRATEGIES[strategy](0), BRUTE_RUNS))
                assert all(map(operator.le, alone, together)), seed
                assert all(map(operator.le, together, sights(brute))), seed
                continue
            assert together == sights(brute), seed
            orders = len(brute.orders) if strategy in REDUCED else brute.whole
            assert brute.failures or sum(search.whole for search in searches) == orders, seed
    tell_seeds(seeds, compared)
    assert compared >= PROGRAMS * 0.9


@pytest.mark.parametrize("shares", [2, 3])
def test_few_delays_are_shared_out(shares: int, tell_seeds: Tell) -> None:
    """What all do together is what one does, and each of its schedules is counted once."""
    for seed in range(PROGRAMS):
        with Runner(scenario_of(draw(seed))) as runner:
            alone = STRATEGIES["delay-bounded"](0)
            everything = all_that(runner, alone, 50 * BRUTE_RUNS)
            searches = [share_of("delay-bounded", 0, job, shares) for job in range(shares)]
            together = union([all_that(runner, search, 50 * BRUTE_RUNS) for search in searches])
            assert alone.ended, seed
            assert together == sights(everything), seed
            assert sum(search.whole for search in searches) == alone.whole, seed
            assert any(search.cut for search in searches) is alone.cut, seed
    tell_seeds(range(PROGRAMS), PROGRAMS)


def union(found: Sequence[Everything]) -> tuple[set[object], ...]:
    return tuple(set[object]().union(*parts) for parts in zip(*map(sights, found), strict=True))


class Box:
    def __init__(self) -> None:
        self.order = ""
        self.sum = 0


def three_add() -> int:
    """Let three threads add to a sum under a lock, twice each."""
    box, lock = Box(), threading.Lock()

    def add() -> None:
        for _ in range(2):
            with lock:
                box.sum += 1

    together(add, 3)
    return box.sum


def one_order_has_steps_of_its_own() -> int:
    """Let two threads add to a sum without a lock, after one of the twenty orders in which two others took one."""
    box, lock = Box(), threading.Lock()

    def take() -> None:
        for _ in range(3):
            with lock:
                box.order += threading.current_thread().name

    def add() -> None:
        box.sum += 1

    together(take, 2)
    if box.order == "abbaba":
        together(add, 2)
    return box.sum


def together(function: Callable[[], None], number: int) -> None:
    threads = [threading.Thread(target=function, name=name) for name in "abc"[:number]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_processes_share_a_search() -> None:
    """They say so, and what they prove is what one proves."""
    alone = explore(three_add, strategy="dpor")
    report = explore(three_add, strategy="dpor", jobs=2)
    assert (report.verdict, report.traces, report.outcomes) == (Verdict.HOLDS, alone.traces, alone.outcomes)
    assert report.reason.startswith(f"all {alone.traces} orders of conflicting steps")
    assert report.reason.endswith("(in 2 jobs)")


def test_what_one_has_found_to_be_a_step_is_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else their shares would not fit together, and orders would be left out."""
    anew: list[tuple[str, ...]] = []

    def again(order: jobs.Order, points: tuple[str, ...], spent_s: float) -> jobs.Order:
        anew.append(points)
        return original(order, points, spent_s)

    original = jobs._anew
    monkeypatch.setattr(jobs, "_anew", again)
    alone = explore(one_order_has_steps_of_its_own, strategy="dpor")
    report = explore(one_order_has_steps_of_its_own, strategy="dpor", jobs=2)
    assert [len(points) for points in anew] == [2, 2]  # Box.sum is read, and written
    assert (report.verdict, report.traces, report.outcomes) == (Verdict.HOLDS, alone.traces, alone.outcomes)


def test_a_share_that_was_not_run_to_its_end_is_bounded() -> None:
    """One that was proves nothing by itself."""
    report = explore(three_add, strategy="dpor", jobs=2, runs=20)
    assert report.verdict is Verdict.BOUNDED
    assert report.reason.startswith("20 schedules of dpor, and more are left")
