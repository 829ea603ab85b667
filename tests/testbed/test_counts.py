"""Exact numbers of schedules: what a search must run, no more and no less."""

from __future__ import annotations

from math import comb, factorial

import pytest

from omni_ipc.testbed import ControlledRuntime, explore
from tests.testbed.kernels import independent, lost_update, together


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_brute_force_runs_each_interleaving_of_two_tasks_once(steps: int) -> None:
    """Two tasks of n steps have binomial(2n, n) interleavings."""
    report = explore(independent(2, steps), strategy="brute-force")
    assert report.schedules == comb(2 * steps, steps)
    assert report.reason == f"all {report.schedules} schedules"


@pytest.mark.parametrize("steps", [1, 2])
def test_brute_force_runs_each_interleaving_of_three_tasks_once(steps: int) -> None:
    """Three tasks of n steps have (3n)! / n!^3 interleavings."""
    report = explore(independent(3, steps), strategy="brute-force")
    assert report.schedules == factorial(3 * steps) // factorial(steps) ** 3


def test_independent_steps_have_one_order_only() -> None:
    """However many the interleavings, the orders of conflicting steps are one."""
    assert explore(independent(3, 3)).traces == 1
    assert explore(independent(3, 2), strategy="brute-force").traces == 1


def test_two_tasks_and_a_lock_have_two_orders() -> None:
    """Either task takes the lock first; while it is held the other one cannot go on."""
    orders = []

    def scenario(rt: ControlledRuntime) -> None:
        lock = rt.lock()
        order: list[str] = []
        orders.append(order)

        def enter(name: str) -> None:
            with lock:
                order.append(name)

        together(rt, lambda: enter("a"), lambda: enter("b"))

    for strategy in ("depth-first", "brute-force"):
        orders.clear()
        assert explore(scenario, strategy=strategy, declared=True).schedules == 2  # the log is used under the lock
        assert sorted(orders[:2]) == [["a", "b"], ["b", "a"]]  # the first one is run again in the end


def test_three_tasks_and_a_lock_have_six_orders() -> None:
    """Each permutation of the critical sections is one order, and is run once."""

    def scenario(rt: ControlledRuntime) -> str:
        lock = rt.lock()
        order: list[str] = []

        def enter(name: str) -> None:
            with rt.region("Enter", lock):
                order.append(name)

        with rt.region("Start"):
            tasks = [rt.spawn(enter, name, name=name) for name in "abc"]
        for task in tasks:
            task.join()
        return "".join(order)

    report = explore(scenario)
    assert report.traces == 6
    assert set(report.outcomes) == {repr(order) for order in ("abc", "acb", "bac", "bca", "cab", "cba")}


def test_a_lost_update_is_among_the_outcomes() -> None:
    """Two unguarded increments come to 1 or to 2: in 4 orders of their reads and writes."""
    report = explore(lost_update)
    assert report.outcomes == ("1", "2")
    assert report.traces == 4


def test_two_reads_commute_and_two_writes_do_not() -> None:
    """Loads of one word have one order; stores to it have two."""

    def scenario(store: bool) -> object:
        def run(rt: ControlledRuntime) -> None:
            words = rt.words(memoryview(bytearray(16)))
            use = (lambda: words.store(0, 1)) if store else (lambda: words.load(0))
            together(rt, use, use)

        return run

    assert explore(scenario(store=False)).traces == 1  # type: ignore[arg-type]
    assert explore(scenario(store=True)).traces == 2  # type: ignore[arg-type]


def test_words_of_two_views_of_one_buffer_conflict() -> None:
    """It is the memory that counts, not the view: a store through one view is ordered with a load through another."""

    def scenario(rt: ControlledRuntime) -> int:
        memory = bytearray(32)
        whole, tail = rt.words(memoryview(memory)), rt.words(memoryview(memory)[8:])
        task = rt.spawn(lambda: whole.store(1, 7), name="writer")
        seen = tail.load(0)
        task.join()
        return seen

    assert set(explore(scenario).outcomes) == {"0", "7"}


def test_creating_a_task_is_a_step_of_the_parent() -> None:
    """What main does before and after it creates a task has one place in each order."""

    def scenario(rt: ControlledRuntime) -> str:
        seen: list[str] = []

        def note(text: str) -> None:
            with rt.region("Note"):
                seen.append(text)

        note("before")
        task = rt.spawn(note, "child", name="child")
        note("after")
        task.join()
        return ",".join(seen)

    report = explore(scenario, strategy="brute-force")
    assert set(report.outcomes) == {"'before,child,after'", "'before,after,child'"}
    assert report.schedules == 2
