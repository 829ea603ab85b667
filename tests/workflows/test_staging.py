"""From a trace in one runtime to a schedule for real processes: what is kept, left out and put in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from omni_ipc.records import Origin, Step, Trace
from omni_ipc.scenarios import SCENARIOS
from omni_ipc.workflows.staging import schedule_of

BUGS = Path(__file__).parents[1] / "bugs"


def staged(steps: Sequence[Step], scenario: str = "abort", defect: str | None = None) -> list[Step]:
    """Stage an explored trace of these steps."""
    trace = Trace(1, scenario, Origin.EXPLORED, tuple(steps))
    return schedule_of(trace, SCENARIOS[scenario], defect)


def test_the_worker_says_what_the_pump_takes_where_the_world_has_a_stand_in() -> None:
    """Just before the pump takes it, once each, unless the trace says it."""
    taken = [Step("pump", "Pump.Reply", {"rpc": 1}), Step("pump", "Pump.Unpack", {"output": "1"})]
    reply = Step("worker.main", "Worker.Reply", {"rpc": 1})
    announce = Step("worker.output", "Worker.Announce", {"output": "1"})
    assert staged(taken) == [reply, taken[0], announce, taken[1]]
    assert staged([announce, reply, *taken]) == [announce, reply, *taken]
    stand_in = Step("worker.output 1", "Worker.Announce", {"output": "1"})
    assert staged([stand_in, taken[1]]) == [announce, taken[1]]


def test_what_the_pump_takes_of_a_worker_that_was_killed_was_said_before() -> None:
    """The kill is a step, in its place among those of the others; a stand-in may have said nothing until then."""
    wake, kill = Step("dispatcher", "Dispatcher.Wake", {"rpc": 1}), Step("kill(worker)", "fault.kill(worker)")
    taken = Step("pump", "Pump.Unpack", {"output": "1"})
    announce = Step("worker.output", "Worker.Announce", {"output": "1"})
    assert staged([wake, kill, taken]) == [wake, announce, kill, taken]


def test_the_worker_says_nothing_where_its_announcements_are_opened_up() -> None:
    """There the steps inside of them are those of the trace."""
    taken = Step("pump", "Pump.Unpack", {"output": "1"})
    assert staged([taken], "dual_writer_ring") == [taken]


def test_what_a_lane_and_a_queue_do_is_left_out_unless_the_model_speaks_of_it() -> None:
    """How often one looks is a matter of time."""
    steps = [
        Step("pump", "queue.get", {"queue": "queue3"}, expired=True),
        Step("pump", "Reader.Look"),
        Step("pump", "Bell.Park"),
        Step("pump", "Reader.Take", {"lane": "worker.main"}),
    ]
    assert staged(steps) == []
    assert staged(steps, "dual_writer_ring") == [steps[-1]]


def test_a_payload_out_of_band_goes_by_the_socket() -> None:
    """Only a defect has one; its slot's record goes by the lane, and is left out like all of a lane's."""
    steps = [Step("worker.output", "Writer.Publish", {"way": way}) for way in ("lane", "socket")]
    assert staged(steps, "overflow", "timeout_consumes") == [Step("worker.output", "Socket.Publish")]
    assert staged(steps, "overflow") == []


def test_time_that_has_passed_by_what_is_left_out_has_passed_by_the_next_step() -> None:
    """The clock of a conducted run is that of the trace."""
    steps = [
        Step("pump", "queue.get", {"queue": "queue3"}, expired=True, time=0.5),
        Step("main", "future.result", {"future": "future1"}, expired=True),
        Step("main", "Executor.Describe"),
    ]
    wait = Step("main", "future.result", expired=True, time=0.5)
    assert staged(steps) == [wait, Step("main", "Executor.Describe", time=0.5)]


def test_names_that_only_the_explorer_gives_are_taken_off() -> None:
    """A real loop counts its tasks from elsewhere, and real futures have no numbers."""
    steps = [
        Step("main", "loop.run", {"loop": "loop14", "callback": "Task-2 World._serve: cancel()"}),
        Step("main", "future.cancel", {"future": "future17"}),
    ]
    assert staged(steps) == [
        Step("main", "loop.run", {"callback": "World._serve: cancel()"}),
        Step("main", "future.cancel"),
    ]


def test_the_reference_does_not_wait_for_what_only_a_defect_does() -> None:
    """Nor for tasks that do nothing else."""
    steps = [Step("subscriber", "sleep", {"ms": 100}, time=0.1), Step("subscriber", "Socket.Join")]
    assert staged([*steps, Step("main", "Executor.Stop")], "overflow") == [Step("main", "Executor.Stop", time=0.1)]
    assert len(staged(steps, "overflow", "lossy_overflow")) == 2


@pytest.mark.parametrize("path", sorted(BUGS.glob("*.json")), ids=lambda path: path.name)
def test_no_task_of_the_collection_is_lost(path: Path) -> None:
    """Every task that takes a region in a trace is in its schedule; and as a model's it speaks of the model's steps."""
    trace = Trace.load(path)
    schedule = schedule_of(trace, SCENARIOS[trace.scenario], trace.defect)
    regions = {step.task.split(" ")[0] for step in trace.steps if step.action[0].isupper()}
    assert {step.task.split(" ")[0] for step in schedule} >= regions
    as_model = msgspec.structs.replace(trace, origin=Origin.MODEL)
    of_model = schedule_of(as_model, SCENARIOS[trace.scenario], trace.defect)
    assert {(step.task, step.action) for step in of_model} <= SCENARIOS[trace.scenario].steps
