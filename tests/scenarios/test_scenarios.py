"""The worlds under control: the defect is found, confirmed, replayed and shrunk; the reference is exhausted."""

from __future__ import annotations

import pytest

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import FailureKind, Trace, Verdict
from omni_ipc.scenarios import DEFECTS, KNOWN, SCENARIOS, Parts, find
from omni_ipc.testbed import replay
from omni_ipc.workflows.exploring import explore_scenario, resolve

LOST = {
    "late_split_map": "Output '1/1' did not come within 1 s. Pending: waiting 2 [1/1, 1/2], cached 0, unsplit 1 [1]",
    "dual_writers": "did not answer call 1 of 1 within 1 s. Pending: waiting 0, cached 0, unsplit 1 [1], rpcs 1 [1]",
    "unpack_outside_lock": "Output '1' did not come within 1 s. Pending: waiting 1 [1], cached 1 [1], unsplit 0",
    **dict.fromkeys(
        ("lossy_overflow", "timeout_consumes", "aggregate_overflow"),
        "Output '1/2' did not come within 1 s. Pending: waiting 1 [1/2], cached 0, unsplit 0, rpcs 0",
    ),
    **dict.fromkeys(("sleep_without_drain", "unsynchronised_copy"), "1: it came with other bytes than were computed"),
    "abandoned_stream": "1 of 1 admitted requests never had an outcome; the table holds: waiting 0, cached 1 [1]",
    "stream_left_open": "of 2 admitted requests never had an outcome; the table holds: waiting 0, cached",
    "reused_request_id": "client: aborted",
    "aborted_output_leak": "every request has ended, and yet the table holds: waiting 0, cached 1 [1]",
    "shutdown_discards_delivered": "client: shut down",
    "deferred_admission": "client: it was aborted before it asked for its output, and was served all the same",
    "short_output_timeout": "client: Output '1' of request 'r' did not come within 30 s. Pending: waiting 1 [1]",
    "wait_counted_as_compute": "an execution of 2 s and a wait of 45 s were told as 47 s and 0 s",
    "cancelled_future": "staying: The result pump died of InvalidStateError: CANCELLED",
    "stale_reply": "echo(2): it got the answer 1",
    "wait_after_shutdown": "Output '1/1' did not come within 1 s. Pending: waiting 1 [1/1], cached 0, unsplit 0",
}
ORDERS = {
    "split_map": 360,
    "dual_writer_ring": 1740,
    "dual_writer_stores": 8,
    "future_orphan": 32,
    **dict.fromkeys(("lane", "lane_stores"), 773),
    "overflow": 329,
    "drain": 256,
    "device_copy": 12,
    "disconnect": 130,
    "several_outputs": 450,
    "reuse": 456,
    "abort": 276,
    "salvage": 34,
    "admission": 16,
    "long_render": 4,
    "cancelling": 264,
    "pump_survival": 397,
    "closing": 382,
}
WALKED = {
    "abandoned_stream",
    "admitting",
    "async_output",
    "device_streams",
    "drain_before_sleep",
    "large_messages",
    "late_answer",
    "reused_request_id",
    "shutdown_salvage",
    "timeout_order",
}
"""Worlds whose orders are too many to exhaust: `omni-ipc conform` walks every step of their models instead."""

ENDINGS = {
    "disconnect": 2,
    "several_outputs": 3,
    "abort": 2,
    "admission": 2,
    "cancelling": 2,
    "pump_survival": 5,
    "closing": 6,
}
"""How many ways there are to end well, where there is more than one."""


@pytest.mark.parametrize("name", DEFECTS)
def test_the_explorer_finds_each_defect_and_its_trace_replays(name: str) -> None:
    """From nothing; the shrunk trace fails in the same way each time, and deviates little from the default order."""
    defect = DEFECTS[name]
    report = explore_scenario(defect.scenario, defect=name)
    assert report.verdict is Verdict.VIOLATED
    assert report.failure is not None
    assert report.failure.kind is FailureKind.EXCEPTION
    assert LOST[name] in report.failure.message
    trace = report.trace
    assert isinstance(trace, Trace)
    function, transparent = resolve(defect.scenario, name)
    again = replay(function, trace, transparent=transparent)
    assert (again.diverged, again.failure) == (None, report.failure)
    assert again.followed == len(trace.steps)
    switches = sum(one.task != two.task for one, two in zip(trace.steps, trace.steps[1:], strict=False))
    assert switches <= 30


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - WALKED))
def test_no_order_of_steps_fails_on_the_reference(name: str) -> None:
    """Exhausted: every order of conflicting steps ends well; the numbers of orders and of endings are pinned."""
    report = explore_scenario(name)
    assert (report.verdict, report.failure) == (Verdict.HOLDS, None)
    assert report.traces == ORDERS[name]
    assert len(report.outcomes) == ENDINGS.get(name, 1)


@pytest.mark.parametrize("name", DEFECTS)
def test_a_random_walk_finds_each_defect_too(name: str) -> None:
    """Another strategy, the same fault: within its 2,000 runs."""
    report = explore_scenario(DEFECTS[name].scenario, defect=name, strategy="random")
    assert report.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", sorted(WALKED))
def test_no_order_that_was_drawn_fails_in_a_world_that_is_walked(name: str) -> None:
    """There, what the model does not speak of is done at once; here it waits for its turn, in a sample of orders."""
    report = explore_scenario(name, strategy="random", runs=200)
    assert (report.verdict, report.failure) == (Verdict.BOUNDED, None)


def test_each_defect_exchanges_one_part_for_a_subclass() -> None:
    """A defect is a small override of the reference, and says in a sentence what it does."""
    reference = Parts()
    for defect in KNOWN.values():
        parts = {name: getattr(defect.parts, name) for name in Parts.__slots__}
        changed = [name for name, part in parts.items() if part is not getattr(reference, name)]
        assert len(changed) == 1, defect.name
        kind = parts[changed[0]]
        assert issubclass(kind, getattr(reference, changed[0]))
        assert len([name for name in vars(kind) if not name.startswith("__") or name == "__init__"]) == 1, defect.name
        assert defect.summary.endswith(".")


def test_a_name_that_is_not_in_the_table_is_told_with_the_nearest() -> None:
    """Unknown scenarios and defects, and a defect of another scenario, say what to use instead."""
    with pytest.raises(UnknownName, match="Did you mean 'split_map'"):
        find("splitmap")
    with pytest.raises(UnknownName, match="Did you mean 'late_split_map'"):
        find("split_map").parts("late_split")
    with pytest.raises(UsageError, match="omni-ipc explore dual_writer_ring --defect dual_writers"):
        find("split_map").parts("dual_writers")
