"""State that threads share is found, whichever way they share it; under a lock, every schedule is well."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore, replay
from tests.testbed.instrument import programs
from tests.testbed.instrument.programs import PROGRAMS, NoLock

Program = Callable[[Any], None]
MODULE = programs.__name__


@pytest.mark.parametrize(("program", "message"), PROGRAMS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_race_is_found_and_replays(program: Program, message: str) -> None:
    """What goes wrong in some schedule only is found, and its trace leads there again."""

    def scenario() -> None:
        program(NoLock())

    report = explore(scenario, instrument=[MODULE], runs=20_000)
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert report.failure is not None
    assert report.trace is not None
    assert message in report.failure.message
    assert replay(scenario, report.trace).failure == report.failure


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda value: value.__name__)
def test_the_same_under_a_lock_holds(program: Program) -> None:
    """Every order of what conflicts is run to its end, and none fails."""

    def scenario() -> None:
        program(threading.Lock())

    report = explore(scenario, instrument=[MODULE], strategy="dpor", runs=20_000)
    assert report.verdict is Verdict.HOLDS, report.reason


def test_what_a_lock_guards_is_no_step() -> None:
    """Two threads and one lock: two orders, and no point but those of the lock."""

    def scenario() -> None:
        programs.lost_update(threading.Lock())

    report = explore(scenario, instrument=[MODULE], strategy="dpor")
    assert report.traces == 2
    assert report.steps == 2 * (2 + 2 * 2 + 2)  # two starts, a lock taken and given back twice, two joins


def test_accesses_to_different_items_do_not_conflict() -> None:
    """Each thread has a slot of its own in a list: one order is all there is."""

    def scenario() -> None:
        results = [0, 0]

        def store(place: int) -> Callable[[], None]:
            def body() -> None:
                results[place] = results[place] + 1

            return body

        programs.together(store(0), store(1))
        assert results == [1, 1]

    report = explore(scenario, instrument=[MODULE], strategy="dpor")
    assert (report.verdict, report.traces) == (Verdict.HOLDS, 1)


def test_reads_do_not_conflict() -> None:
    """What nobody changes while threads live is no step at all."""

    def scenario() -> None:
        counter = programs.Counter(NoLock())
        programs.together(lambda: counter.value, lambda: counter.parts[0])

    report = explore(scenario, instrument=[MODULE], strategy="dpor")
    assert (report.verdict, report.traces) == (Verdict.HOLDS, 1)
    assert report.steps == 4


def test_brute_force_and_reduction_see_the_same_outcomes() -> None:
    """Three increments in two threads: both searches find each number that can come out."""

    def scenario() -> int:
        counter = programs.Counter(NoLock())

        def twice() -> None:
            counter.add()
            counter.add()

        programs.together(twice, counter.add)
        return counter.value

    outcomes = {strategy: explore(scenario, strategy=strategy).outcomes for strategy in ("dpor", "brute-force")}
    assert outcomes["dpor"] == outcomes["brute-force"] == ("1", "2", "3")


def test_a_scenario_with_a_runtime_may_use_instrumented_objects() -> None:
    """They tell their accesses themselves, so the search need not give up its reduction for them."""

    def scenario(rt: ControlledRuntime) -> int:
        counter = programs.Counter(rt.lock())
        for task in [rt.spawn(counter.add, name=name) for name in ("one", "two")]:
            task.join()
        return int(counter.value)

    report = explore(scenario, instrument=[MODULE], strategy="dpor")
    assert (report.verdict, report.outcomes, report.traces) == (Verdict.HOLDS, ("2",), 2)
    assert "nobody watches" not in report.reason


def test_what_each_task_makes_for_itself_does_not_conflict() -> None:
    """Objects are told apart by who made them, and which: those of one line of code, too."""

    def scenario() -> None:
        seen: list[int] = [0, 0]

        def work(place: int) -> Callable[[], None]:
            def body() -> None:
                counter = programs.Counter(NoLock())
                counter.add()
                counter.parts.append(1)
                counter.table["n"] += len(counter.parts)
                seen[place] = counter.value

            return body

        programs.together(work(0), work(1))
        assert seen == [1, 1]

    report = explore(scenario, instrument=[MODULE], strategy="dpor")
    assert (report.verdict, report.traces) == (Verdict.HOLDS, 1)


def test_an_object_has_one_identity_in_all_schedules() -> None:
    """Whoever runs first: a trace names the object by its maker, so it replays, and the outcomes are the same."""

    def scenario() -> int:
        made: list[programs.Counter] = []

        def make() -> None:
            made.append(programs.Counter(NoLock()))
            made[-1].add()

        def use() -> None:
            for counter in made.copy():
                counter.add()

        programs.together(make, make, use)
        return sum(counter.value for counter in made)

    report = explore(scenario, strategy="dpor", runs=20_000)
    assert report.verdict is Verdict.HOLDS
    assert set(explore(scenario, strategy="random", runs=400).outcomes) <= set(report.outcomes) == set("1234")


class Lazy:
    """Two threads ask for what is computed once."""

    computed = 0

    @functools.cached_property
    def value(self) -> int:
        Lazy.computed += 1
        return Lazy.computed


def two_ask() -> int:
    """Count the computations of two threads that ask the same object."""
    lazy = Lazy()
    threads = [threading.Thread(target=lambda: lazy.value) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Lazy.computed


def test_a_cached_property_is_computed_as_often_as_this_python_lets_it() -> None:
    """Until Python 3.11 it has a lock, made with the class; without one, two threads may both miss."""
    report = explore(two_ask)
    assert report.verdict is Verdict.HOLDS, report.reason
    assert set(report.outcomes) == ({"1"} if sys.version_info < (3, 12) else {"1", "2"})


class Counting:
    """Its methods are made by what `functools` has for that."""

    def __init__(self) -> None:
        self.count = 0

    def _add(self, number: int) -> None:
        self.count += number

    add_one = functools.partialmethod(_add, 1)
    del _add  # so that nothing else leads to it

    @functools.singledispatchmethod
    def add(self, number: object) -> None:
        raise TypeError(number)

    @add.register
    def _(self, number: int) -> None:
        self.count += number

    del _


@pytest.mark.parametrize("call", [lambda counting: counting.add_one(), lambda counting: counting.add(1)])
def test_a_method_that_something_else_calls_has_points_inside(call: Callable[[Counting], None]) -> None:
    """An update is lost in it in some schedule."""

    def scenario() -> int:
        counting = Counting()
        threads = [threading.Thread(target=lambda: call(counting)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return counting.count

    assert set(explore(scenario).outcomes) == {"1", "2"}
