"""Schedules that Hypothesis draws: input and schedule shrink together."""

from __future__ import annotations

import queue
import re
import threading
from pathlib import Path

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from omni_ipc.errors import UsageError
from omni_ipc.testbed import ScheduleFailed
from omni_ipc.testbed.schedules import Schedule, schedules
from tests.pytest_plugin.session import session


class Total:
    """Adds up what threads give it."""

    def __init__(self) -> None:
        self.value = 0
        self.lock = threading.Lock()

    def add(self, number: int) -> None:
        self.value += number

    def add_under_lock(self, number: int) -> None:
        with self.lock:
            self.value += number


def total(numbers: list[int], *, safe: bool) -> int:
    """Let each thread add one number."""
    result = Total()
    threads = [threading.Thread(target=result.add_under_lock if safe else result.add, args=(n,)) for n in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result.value == sum(numbers), f"{result.value} is not the sum"
    return result.value


def fails(numbers: list[int], schedule: Schedule, *, safe: bool) -> bool:
    """Tell whether a schedule breaks it."""
    try:
        schedule.run(lambda: total(numbers, safe=safe))
    except ScheduleFailed:
        return True
    return False


def test_input_and_schedule_shrink_together() -> None:
    """Two numbers of which one is 1, and as few deviations as lose an update."""
    drawn = st.tuples(st.lists(st.integers(0, 50), max_size=2), schedules())
    numbers, schedule = find(drawn, lambda pair: fails(*pair, safe=False), settings=settings(max_examples=400))
    assert (len(numbers), sum(numbers)) == (2, 1)
    assert 1 <= len(schedule.deviations) <= 2
    assert not fails(numbers, Schedule(), safe=False)


def test_what_is_right_holds_in_all_that_are_drawn() -> None:
    """Under its lock no schedule loses an update."""
    drawn = st.tuples(st.lists(st.integers(0, 50), max_size=3), schedules())
    with pytest.raises(NoSuchExample):
        find(drawn, lambda pair: fails(*pair, safe=True), settings=settings(max_examples=60))


@settings(max_examples=30)
@given(st.lists(st.integers(), min_size=1, max_size=3), schedules())
def test_the_value_of_the_scenario_comes_back(items: list[int], schedule: Schedule) -> None:
    """A queue keeps the order of one producer in each schedule."""

    def move() -> list[int]:
        channel: queue.Queue[int] = queue.Queue(1)
        thread = threading.Thread(target=lambda: [channel.put(item) for item in items])
        thread.start()
        taken = [channel.get() for _ in items]
        thread.join()
        return taken

    assert schedule.run(move) == items


def test_a_failure_tells_what_happened_and_comes_again() -> None:
    """The message is the scenario's own; the note says which steps met; the same schedule fails again."""
    schedule = next(schedule for gap in range(20) if fails([1, 1], schedule := Schedule(((1, gap, 0),)), safe=False))
    with pytest.raises(ScheduleFailed, match="1 is not the sum") as caught:
        schedule.run(lambda: total([1, 1], safe=False))
    assert "Total.value" in "".join(caught.value.__notes__)
    assert eval(repr(schedule), {"Schedule": Schedule}) == schedule


def test_deviations_that_do_not_fit_are_disregarded() -> None:
    """A schedule of one scenario may be run on another, with fewer tasks and decisions."""
    assert Schedule(((0, 0, 2), (1, 3, 1), (4, 30, 0))).run(lambda: total([5], safe=True)) == 5


def test_what_is_no_scenario_is_told() -> None:
    """A function that wants more than a runtime cannot be run."""
    with pytest.raises(UsageError, match="A scenario is called with no argument"):
        Schedule().run(lambda one, two: None)  # type: ignore[misc, arg-type]


DRAWN = """
import threading

from hypothesis import example, given, seed, settings
from hypothesis import strategies as st

from omni_ipc.testbed.schedules import Schedule, schedules


class Total:
    def __init__(self):
        self.value = 0

    def add(self, number):
        self.value += number


@seed(2)
@settings(deadline=None, database=None)
@given(numbers=st.lists(st.integers(0, 50), max_size=3), schedule=schedules())
def test_sum(numbers, schedule):
    def scenario():
        total = Total()
        threads = [threading.Thread(target=total.add, args=(number,)) for number in numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert total.value == sum(numbers)

    schedule.run(scenario)
"""


def test_a_failing_test_shows_its_own_lines_and_an_example_that_fails_again(tmp_path: Path) -> None:
    """Nothing of ours, and what Hypothesis prints is the literal call: in a new process, with nothing run before it."""
    (tmp_path / "test_drawn.py").write_text(DRAWN)
    ended = session(tmp_path, "test_drawn.py", "-p", "no:cacheprovider")
    assert ended.code == 1
    assert "    schedule.run(scenario)" in ended.text
    assert "with Runner(" not in ended.text
    assert "omni_ipc/testbed/schedules.py:" not in ended.text
    assert "read Total.value (0, test_drawn.py:" in ended.text
    example = re.search(r"test_sum\(\n(.*?)^E? *\)", ended.text, re.MULTILINE | re.DOTALL)
    assert example is not None
    numbers, schedule = re.findall(r"(?:numbers|schedule)=(.*),$", example[1], re.MULTILINE)
    assert (sum(eval(numbers)), len(eval(numbers)) <= 3) == (1, True)
    (tmp_path / "test_again.py").write_text(
        f"{DRAWN}\n\ndef test_again():\n    test_sum.hypothesis.inner_test({numbers}, {schedule})\n"
    )
    again = session(tmp_path, "test_again.py::test_again", "-p", "no:cacheprovider")
    assert (again.code, again.counts) == (1, {"failed": 1})
    assert "ScheduleFailed" in again.text
