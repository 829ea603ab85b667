"""Guided exploration: along orders of regions that were seen elsewhere, then near them, and never stuck on one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import ControlledRuntime
from omni_ipc.testbed.guiding import explore_along
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.guided import Guided


def regions(rt: Runtime, *actions: str) -> None:
    for action in actions:
        with rt.region(action):
            pass


def two(rt: ControlledRuntime) -> None:
    """Two tasks of three regions each."""
    tasks = [rt.spawn(regions, rt, *(f"{name}.{verb}" for verb in "XYZ"), name=name) for name in ("A", "B")]
    for task in tasks:
        task.join()


def taken(order: Sequence[str], runs: int = 1) -> list[list[str]]:
    """Run along an order, so many times, and give the regions as they were taken."""
    guided = Guided(0, [order])
    found = []
    with Runner(two) as runner:
        for _ in range(runs):
            guided.next_prefix()
            steps = runner.run(guided, record=True).steps
            found.append([step.action for step in steps if step.action[:2] in ("A.", "B.")])
    return found


@pytest.mark.parametrize(
    "order",
    [
        ["B.X", "A.X", "B.Y", "A.Y", "B.Z", "A.Z"],
        ["A.X", "B.X", "B.Y", "B.Z", "A.Y", "A.Z"],
        ["B.X", "B.Y", "B.Z", "A.X", "A.Y", "A.Z"],
    ],
)
def test_a_whole_order_is_followed(order: list[str]) -> None:
    """Each region in its turn, whoever takes it."""
    assert taken(order) == [order]


def test_who_comes_to_a_region_of_later_waits_for_those_before() -> None:
    """What the order does not tell of is taken as it comes."""
    (found,) = taken(["B.Z", "A.Y"])
    assert found.index("B.Z") < found.index("A.Y")
    assert found[0] == "A.X"


def test_a_region_that_nobody_comes_to_is_passed_over() -> None:
    """The rest of the order is followed all the same."""
    (found,) = taken(["B.X", "C.X", "B.Y", "A.X"])
    assert found.index("B.X") < found.index("B.Y") < found.index("A.X")


def test_an_order_that_the_code_cannot_take_comes_to_an_end() -> None:
    """Nobody waits for ever."""
    (found,) = taken(["A.Z", "A.Y", "A.X", "B.X"])
    assert sorted(found) == [f"{name}.{verb}" for name in "AB" for verb in "XYZ"]


def test_later_runs_are_freer() -> None:
    """The first is the order itself; those behind it come to others, and a seed to the same ones."""
    order = ["B.X", "A.X", "B.Y", "A.Y", "B.Z", "A.Z"]
    found = taken(order, 100)
    assert found[0] == order
    assert len({tuple(each) for each in found}) > 5
    assert found == taken(order, 100)


def test_orders_take_turns() -> None:
    """Each is followed as it is before any is followed freely."""
    orders = [["A.X", "B.X", "A.Y"], ["B.X", "B.Y", "A.X"]]
    guided = Guided(0, orders)
    with Runner(two) as runner:
        for order in orders:
            guided.next_prefix()
            actions = [step.action for step in runner.run(guided, record=True).steps]
            assert [action for action in actions if action in order] == order


def lossy(rt: ControlledRuntime) -> None:
    """Two tasks count, and each forgets what the other has counted since it looked."""
    count = [0]

    def add(name: str) -> None:
        with rt.region(f"{name}.Look"):
            seen = count[0]
        with rt.region(f"{name}.Write"):
            count[0] = seen + 1

    tasks = [rt.spawn(add, name, name=name) for name in ("A", "B")]
    for task in tasks:
        task.join()
    assert count == [2], "lost"


def test_a_failure_along_an_order_is_reported_as_any_other() -> None:
    """Confirmed, shrunk, with its trace; in the first schedule."""
    report = explore_along(lossy, [["A.Look", "B.Look", "B.Write", "A.Write"]], name="lossy", declared=True)
    assert (report.verdict, report.schedules) == (Verdict.VIOLATED, 1)
    assert report.trace is not None
    assert report.trace.strategy == "guided by a recording, seed 0"
    assert "lost" in str(report.failure)


def test_no_failure_near_the_orders_is_bounded() -> None:
    """It says nothing of other orders."""
    report = explore_along(two, [["A.X"]], name="two", runs=50)
    assert (report.verdict, report.schedules) == (Verdict.BOUNDED, 50)


def test_no_order_is_refused() -> None:
    """There is nothing to go along."""
    with pytest.raises(UsageError, match="no order to go along"):
        explore_along(two, [], name="two")
