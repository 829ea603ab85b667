"""What a model speaks of in a recording."""

from __future__ import annotations

import msgspec
import pytest

from omni_ipc.conformance.models.manifest import Spec, load
from omni_ipc.conformance.recordings.cases import GROUP, Pool, make_cases
from omni_ipc.conformance.recordings.lens import Lens, find_lens
from omni_ipc.conformance.recordings.looking import View, look
from omni_ipc.conformance.recordings.sessions import Session, Step
from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.recordings import Change
from omni_ipc.records import Field

SPEC, LENS = find_lens("SplitMap", load())
LOOKED = ("OutputTable",)


def step(
    action: str, *, begin: int = 0, error: str | None = None, inside: tuple[str, ...] = (), **fields: Field
) -> Step:
    return Step(1, "task", 1, action, fields, begin, begin + 1, error, inside, (), {})


def changing(action: str, field: str, *keys: str, begin: int = 0, **fields: Field) -> Step:
    changes = {("OutputTable", field): Change(1, field, gone=keys)}
    return msgspec.structs.replace(step(action, begin=begin, **fields), looked=LOOKED, changes=changes)


def view_of(*steps: Step, spec: Spec = SPEC, lens: Lens = LENS) -> View:
    return look(Session((1,), steps, (), ()), spec, lens)


def told(view: View) -> list[str]:
    return [str(seen) for seen in view.steps]


def test_a_step_is_an_action_by_its_region_and_fields() -> None:
    """What the model has no action for is left out, and so is a region inside of one that it has."""
    view = view_of(
        step("Worker.Announce", output="1"),
        step("Bell.Ring"),
        step("Pump.Unpack", output="1", inside=("Bell.Ring",)),
        step("Consumer.Wait", output="1/1", inside=("Dispatcher.Expect",)),
    )
    assert told(view) == ["WorkerAnnounce(output=1)", "PumpUnpack(output=1)"]
    assert (view.left_out, view.leaving) == ({}, {})


def test_what_happens_in_the_regions_inside_of_a_step_is_a_part_of_it() -> None:
    """What was looked at there, and what all of it came to; a step that never ended may have come no farther."""
    inner = (changing("Consumer.Drop", "_waiting", "1/1"), changing("Consumer.Drop", "_waiting", "1/2"))
    put_back = Change(1, "_waiting", came=("1/2", "1/3"))
    expect = msgspec.structs.replace(
        step("Dispatcher.Expect", batch="1"),
        inner=inner,
        looked=LOOKED,
        changes={("OutputTable", "_waiting"): put_back},
    )
    (seen,) = view_of(expect).steps
    assert seen.step.looked == LOOKED
    assert seen.step.changes["OutputTable", "_waiting"] == Change(1, "_waiting", came=("1/3",), gone=("1/1",))
    (killed,) = view_of(msgspec.structs.replace(expect, end_ns=None, looked=(), changes={})).steps
    assert (killed.step.looked, killed.step.changes) == ((), {})


def test_what_meets_a_region_beyond_the_model_is_left_out_with_all_its_family() -> None:
    """Also what it did before; the others stay."""
    view = view_of(
        step("Worker.Announce", output="1"),
        step("Worker.Announce", output="2"),
        step("Pump.Deliver", output="1"),
    )
    assert told(view) == ["WorkerAnnounce(output=2)"]
    assert view.left_out == {"1": "Pump.Deliver"}


def test_what_another_step_changes_leaves_and_is_looked_at_until_then() -> None:
    """The model lacks the step; one output of a batch takes all of it along."""
    view = view_of(
        step("Worker.Announce", output="1"),
        step("Consumer.Wait", output="1/2"),
        changing("Executor.Fail", "_waiting", "1/2"),
        step("Pump.Unpack", output="1"),
        step("Worker.Announce", output="2"),
    )
    assert told(view) == ["WorkerAnnounce(output=1)", "ConsumerWait(output=1/2)", "WorkerAnnounce(output=2)"]
    assert view.leaving == {"1": "Executor.Fail"}


def test_what_another_step_is_taken_on_leaves_even_if_nothing_is_seen_of_it() -> None:
    """A drop before the output has come changes nothing that the model knows, and yet the output will go nowhere."""
    view = view_of(
        msgspec.structs.replace(step("Consumer.Drop", output="1"), looked=LOOKED),
        msgspec.structs.replace(step("Dispatcher.Call", rpc=2), looked=LOOKED),
        step("Worker.Announce", output="1"),
        step("Worker.Announce", output="2"),
    )
    assert told(view) == ["WorkerAnnounce(output=2)"]
    assert view.leaving == {"1": "Consumer.Drop"}


def test_who_leaves_holding_something_has_not_taken_hold() -> None:
    """Else the pump would have its hands full for ever."""
    view = view_of(
        step("Worker.Announce", output="1"),
        step("Pump.Unpack", output="1"),
        changing("Executor.Close", "_waiting", "1/1"),
        step("Pump.TakeSplit", batch="1"),
        step("Pump.Unpack", output="2"),
    )
    assert told(view) == ["WorkerAnnounce(output=1)", "PumpUnpack(output=2)"]


def test_a_step_that_raised_is_where_its_family_leaves() -> None:
    """The model has no such step; it is told which it was."""
    view = view_of(step("Worker.Announce", output="1", error="Full"), step("Worker.Announce", output="2"))
    assert told(view) == ["WorkerAnnounce(output=2)"]
    assert view.leaving == {"1": "Worker.Announce raised Full"}


def test_a_parameter_may_be_another_field_or_the_name_of_the_task() -> None:
    """As the lens says, else by its own name; without any, it is told what is missing."""
    spec = Spec("", {"WriterClaim": {"writer": "Writers"}})
    assert told(view_of(step("Writer.Claim", lane="x"), spec=spec, lens=Lens("T"))) == ["WriterClaim(writer=task)"]
    by_lane = Lens("T", fields={"WriterClaim": {"writer": "lane"}})
    assert told(view_of(step("Writer.Claim", lane="x"), spec=spec, lens=by_lane)) == ["WriterClaim(writer=x)"]
    with pytest.raises(UsageError, match=r"The region Writer\.Claim has no field 'lane'"):
        view_of(step("Writer.Claim"), spec=spec, lens=by_lane)


def test_what_comes_behind_a_number_that_another_task_has_taken_is_looked_at_no_more() -> None:
    """It had taken it before, and uses it later; a number that nobody uses is left to the model."""
    calling = Spec("", {"DispatcherCall": {"rpc": "Calls"}})
    lens = Lens("T", tasks={"DispatcherCall": "task"}, numbered={"DispatcherCall": "rpc"})
    ours = [step("Dispatcher.Call", rpc=number) for number in (1, 3)]
    other = msgspec.structs.replace(step("Dispatcher.Call", rpc=2), task="another")
    view = view_of(*ours, other, spec=calling, lens=lens)
    assert (told(view), view.leaving) == (["DispatcherCall(rpc=1)"], {"": "Dispatcher.Call behind another's 2"})
    assert told(view_of(*ours, spec=calling, lens=lens)) == ["DispatcherCall(rpc=1)", "DispatcherCall(rpc=3)"]


def test_a_spec_without_a_lens_is_told() -> None:
    """With the nearest that has one."""
    with pytest.raises(UnknownName, match="Did you mean 'SplitMap'"):
        find_lens("SplitMop", load())


def test_many_families_are_looked_at_in_groups_that_share_names_and_neighbours() -> None:
    """Each family is in a group, neighbours are together in one, and no group is much larger than it may be."""
    pool = Pool()
    view = view_of(*(step("Worker.Announce", output=str(n), begin=10 * n) for n in range(1, 201)))
    cases = make_cases(view, LENS, pool)
    groups = [set(case.slots) for case in cases]
    assert set().union(*groups) == {str(n) for n in range(1, 201)}
    assert all(any({str(n), str(n + 1)} <= group for group in groups) for n in range(1, 200))
    assert max(map(len, groups)) == GROUP
    assert len(list(pool.families())) == GROUP
    last = cases[-1]
    assert last.original(last.named("200", LENS), LENS) == "200"
    assert last.original(frozenset({last.named("200", LENS), "idle"}), LENS) == frozenset({"200", "idle"})


def test_whole_families_have_slots_of_their_own_shape() -> None:
    """A batch of two does not share names with a batch of three, whichever of its outputs were asked for or cached."""
    pool = Pool()
    view = view_of(
        step("Consumer.Wait", output="1/1"),
        changing("Dispatcher.Expect", "_cached", "1/1", "1/2", batch="1"),
        step("Consumer.Wait", output="2/1"),
    )
    make_cases(view, LENS, pool)
    shapes = {name: {rest for constant, rest in shape if constant == "Outputs"} for name, shape in pool.families()}
    assert sorted(shapes.values(), key=len) == [{"/1"}, {"/1", "/2"}]


def test_of_who_left_before_its_first_step_nothing_is_looked_at_in_steps_of_others() -> None:
    """Its announcement raised, and it waited later: that the pump's end tells it is none of the model's."""
    spec, lens = find_lens("PumpSurvival", load())
    close = msgspec.structs.replace(changing("Executor.Close", "_waiting", "1", "2"), task="pump")
    view = view_of(
        step("Consumer.Wait", output="1"),
        step("Worker.Announce", output="2", error="UsageError"),
        step("Consumer.Wait", output="2"),
        close,
        spec=spec,
        lens=lens,
    )
    assert told(view) == ["ConsumerWait(output=1)", "ExecutorClose()"]
    (case,) = make_cases(view, lens, Pool())
    assert case.slots.keys() == {"1"}


def test_ids_leave_where_the_model_cannot_follow_whom_a_region_names() -> None:
    """Though nothing that it observes is looked at there: a stream that is deleted takes no lock."""
    lens = msgspec.structs.replace(LENS, lost=("Stream.Desert",))
    steps = (
        step("Worker.Announce", begin=1, output="1"),
        step("Stream.Desert", begin=3, output="1/1"),
        step("Pump.Unpack", begin=5, output="1"),
        step("Worker.Announce", begin=7, output="2"),
    )
    view = view_of(*steps, lens=lens)
    assert told(view) == ["WorkerAnnounce(output=1)", "WorkerAnnounce(output=2)"]
    assert view.leaving == {"1": "Stream.Desert"}


def test_a_step_without_ids_that_another_task_takes_is_none_of_the_model() -> None:
    """What it changes leaves; the step of the task that the model knows stays, beside ids alone."""
    spec, lens = find_lens("PumpSurvival", load())
    closing = msgspec.structs.replace(changing("Executor.Close", "_waiting", "2", begin=5), task="shutdown")
    steps = (
        step("Worker.Announce", begin=1, output="1"),
        msgspec.structs.replace(step("Executor.Close", begin=3), task="pump"),
        closing,
        step("Worker.Announce", begin=7, output="2"),
    )
    view = view_of(*steps, spec=spec, lens=lens)
    assert told(view) == ["WorkerAnnounce(output=1)", "ExecutorClose()"]
    assert view.leaving == {"2": "Executor.Close"}
    assert not view_of(*steps[1:3], spec=spec, lens=lens).steps


def test_an_action_that_must_come_before_must_come_of_the_same_ids() -> None:
    """Else they leave: a consumer that never asked is not the model's when it goes away."""
    spec, lens = find_lens("PumpSurvival", load())
    steps = (
        step("Consumer.Wait", begin=1, output="1"),
        step("Consumer.Drop", begin=3, output="2"),
        step("Consumer.Drop", begin=5, output="1"),
    )
    view = view_of(*steps, spec=spec, lens=lens)
    assert told(view) == ["ConsumerWait(output=1)", "ConsumerDrop(output=1)"]
    assert view.leaving == {"2": "Consumer.Drop without ConsumerWait"}


def test_an_action_that_must_be_somewhere_may_come_behind() -> None:
    """Who settles first, and announces then, is for the model to judge; who never announces is a further worker."""
    spec, lens = find_lens("DrainBeforeSleep", load())
    hands_over, settles, announces = (
        msgspec.structs.replace(step(f"Worker.{name}", begin=begin, output="1"), task=f"worker.{task}")
        for begin, (name, task) in enumerate([("HandOver", "main"), ("Settle", "output"), ("Announce", "output")])
    )
    view = view_of(hands_over, settles, announces, spec=spec, lens=lens)
    assert told(view) == ["WorkerHandOver(output=1)", "WorkerSettle(output=1)", "WorkerAnnounce(output=1)"]
    further = view_of(hands_over, settles, spec=spec, lens=lens)
    assert (told(further), further.leaving) == (
        ["WorkerHandOver(output=1)"],
        {"": "Worker.Settle without WorkerAnnounce"},
    )


def test_who_leaves_takes_along_all_that_it_had_not_let_go() -> None:
    """What was announced of it, and unpacked: else the pump would wait for it for ever."""
    spec, lens = find_lens("PumpSurvival", load())
    steps = (
        step("Worker.Announce", begin=1, output="1"),
        step("Pump.Unpack", begin=3, output="1"),
        step("Consumer.Drop", begin=5, output="1"),
        step("Worker.Announce", begin=7, output="2"),
    )
    assert told(view_of(*steps, spec=spec, lens=lens)) == ["WorkerAnnounce(output=2)"]


@pytest.mark.parametrize("name", ["Admission", "AbandonedStream"])
def test_a_stream_may_be_deserted_inside_of_a_step_or_during_one(name: str) -> None:
    """What was not over then may have ended it, and counts only as begun; what its own step does stays a part of it."""
    spec, lens = find_lens(name, load())
    lens = msgspec.structs.replace(lens, told={})
    admit, drop = step("Engine.Admit", begin=1, request="a"), step("Consumer.Drop", begin=11, inside=("Stream.End",))
    settle = msgspec.structs.replace(
        step("Dispatcher.Settle", begin=3), task="dispatcher", end_ns=9, looked=("Scheduler",)
    )
    end = step("Stream.End", begin=10, number=1)
    desert = step("Stream.Desert", begin=5, inside=("Engine.Admit",), number=1)
    view = view_of(admit, settle, desert, end, spec=spec, lens=lens)
    assert (told(view), view.leaving) == (["EngineAdmit(number=a)", "DispatcherSettle()"], {"": "Stream.Desert"})
    assert [(seen.step.end_ns, seen.step.looked) for seen in view.steps] == [(2, ()), (None, ())]
    inner = msgspec.structs.replace(drop, looked=LOOKED)
    assert view_of(admit, settle, end, inner, spec=spec, lens=lens).leaving == {}


def test_clients_in_recordings_do_more_than_those_of_a_model() -> None:
    """A stream that is deserted is followed, and so is whoever waits beside it; what else they do is not."""
    spec, lens = find_lens("AbandonedStream", load())
    lens = msgspec.structs.replace(lens, told={})
    assert spec.actions.keys() == load().specs["AbandonedStream"].actions.keys() | {"ConsumerWait", "StreamDeliver"}
    steps = (
        step("Engine.Admit", begin=1, request="a"),
        step("Consumer.Wait", begin=3, output="1"),
        step("Stream.Deliver", begin=5, number=1),
        step("Stream.Desert", begin=7, number=2),
        step("Engine.Statistics", begin=9),
        step("Engine.Close", begin=11),
    )
    view = view_of(*steps, spec=spec, lens=lens)
    assert told(view)[1:] == [
        "ConsumerWait(number=1)",
        "StreamDeliver(number=1)",
        "StreamDesert(number=2)",
        "EngineStatistics()",
    ]
    assert view.leaving == {"": "Engine.Close"}


def test_actions_that_happen_unseen_are_known_by_what_takes_them() -> None:
    """So that a recording is not said to lack what none could tell of."""
    _, lens = find_lens("DrainBeforeSleep", load())
    taken = [action for action in ("DeviceCopy", "PipelineFree", "WorkerDrain") if lens.takes_unseen(action)]
    assert taken == ["DeviceCopy", "PipelineFree"]
