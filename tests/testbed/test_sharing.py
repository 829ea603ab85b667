"""State that tasks share behind the runtime's back: it is found, told, and then nothing is left out."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore

COUNT = 0


def two(rt: ControlledRuntime, fn: Callable[..., object], *args: object) -> None:
    for task in [rt.spawn(fn, *args, name=name) for name in ("one", "two")]:
        task.join()


class Counter:
    value = 0

    def __init__(self, rt: ControlledRuntime) -> None:
        self._rt = rt

    def increment(self) -> None:
        with self._rt.region("Counter.Read"):
            seen = self.value
        with self._rt.region("Counter.Write"):
            self.value = seen + 1


def in_a_variable(rt: ControlledRuntime) -> int:
    count = 0

    def increment() -> None:
        nonlocal count
        with rt.region("Counter.Read"):
            seen = count
        with rt.region("Counter.Write"):
            count = seen + 1

    two(rt, increment)
    return count


def in_a_global(rt: ControlledRuntime) -> int:
    def increment() -> None:
        global COUNT
        with rt.region("Counter.Read"):
            seen = COUNT
        with rt.region("Counter.Write"):
            COUNT = seen + 1

    globals()["COUNT"] = 0
    two(rt, increment)
    return COUNT


def in_a_list(rt: ControlledRuntime) -> int:
    counts = [0]

    def increment() -> None:
        with rt.region("Counter.Read"):
            seen = counts[0]
        with rt.region("Counter.Write"):
            counts[0] = seen + 1

    two(rt, increment)
    return counts[0]


def in_self(rt: ControlledRuntime) -> int:
    counter = Counter(rt)
    two(rt, counter.increment)
    return counter.value


def in_an_argument(rt: ControlledRuntime) -> int:
    counter = Counter(rt)
    two(rt, functools.partial(Counter.increment, counter))
    return counter.value


FOUND = {
    in_a_variable: "the variable 'count'",
    in_a_global: "the global 'COUNT'",
    in_a_list: "'counts' (a list)",
    in_self: "self (a Counter)",
    in_an_argument: "an argument (a Counter)",
}


@pytest.mark.parametrize("scenario", FOUND, ids=lambda scenario: scenario.__name__)
def test_a_lost_update_on_undeclared_state_is_not_left_out(scenario: Callable[[ControlledRuntime], int]) -> None:
    """Both outcomes are seen, and the report says what the tasks share; trusted, the search would miss one of them."""
    report = explore(scenario)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("1", "2"))
    assert f"none was left out, because tasks share {FOUND[scenario]}" in report.reason
    assert explore(scenario, declared=True).outcomes != report.outcomes


def test_a_watched_object_need_not_be_told() -> None:
    """Watched, the same counter is explored with the reduction, and both outcomes are seen."""

    def scenario(rt: ControlledRuntime) -> int:
        counter = Counter(rt)
        rt.watch(counter, None, "counter")
        two(rt, counter.increment)
        return counter.value

    report = explore(scenario)
    assert report.outcomes == ("1", "2")
    assert report.reason.startswith("all 4 orders of conflicting steps")


@dataclasses.dataclass(frozen=True)
class Frozen:
    limit: int


class Named(NamedTuple):
    limit: int


def test_what_cannot_change_or_is_controlled_is_no_state() -> None:
    """Constants, frozen records, functions, classes and the runtime's own objects leave the reduction on."""
    constants = (1, "text", Frozen(2), Named(3), Counter, frozenset({4}), None, b"bytes")

    def helper(number: int) -> int:
        return number + len(constants)

    def scenario(rt: ControlledRuntime) -> None:
        lock, queue = rt.lock(), rt.queue()

        def work(number: int) -> None:
            with lock:
                queue.put(helper(number))

        two(rt, work, 1)

    report = explore(scenario)
    assert report.verdict is Verdict.HOLDS
    assert "tasks share" not in report.reason
    assert report.reason.startswith("all 2 orders of conflicting steps")


def test_a_budget_that_ends_the_full_search_says_so() -> None:
    """Without the reduction there may be too many schedules: the verdict is bounded, with the reason."""
    report = explore(in_a_list, runs=5)
    assert report.verdict is Verdict.BOUNDED
    assert "tasks share 'counts' (a list)" in report.reason
