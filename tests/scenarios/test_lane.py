"""The lane, access by access: each of its defects is found and told, and the world itself tells who overslept."""

from __future__ import annotations

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import MemoryOrder, Verdict
from omni_ipc.scenarios import KNOWN, SCENARIOS, Parts
from omni_ipc.scenarios.defects import UNMET
from omni_ipc.scenarios.lane import LaneWorld
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.workflows.exploring import explore_scenario

WRONG = {
    "publish_before_body": "record 2 was published, and the ring holds (1, 1)",
    "position_before_count": "2 records were taken, of 1 written",
    "no_room_asked_for": "2 records are published in a ring that holds one",
    "closed_at_once": "the writer ended, 'closed', before 1 records that were published",
    "death_before_drain": "the reader ended, 'told', before 1 records that were published",
    "sleeps_on": "'main' waits for the end of 'reader', and nobody is left to wake it",
    **dict.fromkeys(
        ("lost_wakeup", "missing_writer_fence", "missing_reader_fence"),
        "overslept: what it waited for was there, and nobody rang",
    ),
}


@pytest.mark.parametrize("name", [name for name in UNMET if KNOWN[name].scenario in ("lane", "lane_stores")])
def test_the_explorer_finds_each_defect_of_the_lane(name: str) -> None:
    """From nothing: of fences where stores are late, of others among schedules in which the writer may be killed.

    Each step is told by the line that asked for it, and not by that of the world which made it a step.
    """
    scenario = SCENARIOS[KNOWN[name].scenario]
    faults = ("kill:writer",) if scenario.faults else ()
    report = explore_scenario(scenario.name, defect=name, memory=scenario.memory, faults=faults)
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert report.failure is not None
    assert WRONG[name] in report.failure.message
    assert report.trace is not None
    told = {(step.where or "").partition(":")[0] for step in report.trace.steps}
    assert not told & {"stepped_words.py", "lane_observed.py"}


@pytest.mark.parametrize("memory", [MemoryOrder.TSO, MemoryOrder.RELEASE])
def test_no_order_of_late_stores_that_was_drawn_fails(memory: MemoryOrder) -> None:
    """In the memory orders that the lane is built for, in a sample."""
    report = explore_scenario("lane", memory=memory, strategy="random", runs=60)
    assert (report.verdict, report.failure) == (Verdict.BOUNDED, None)


def test_stores_in_any_order_fail() -> None:
    """Where a store of a word releases nothing, the position comes before what it publishes."""
    report = explore_scenario("lane", memory=MemoryOrder.WEAK)
    assert report.verdict is Verdict.VIOLATED, report.reason


def test_the_lane_of_this_world_is_in_one_process() -> None:
    """A worker cannot play a side of it, and what can is told."""
    with pytest.raises(UsageError, match="--on controlled"):
        LaneWorld(NativeRuntime(), Parts(), launch=lambda *_: pytest.fail("it starts nothing"))
