"""Driving code along a trace: hand-made code that follows, refuses, departs, and fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import pytest

from omni_ipc.conformance.counterexamples.replay import Difference, Followed, follow
from omni_ipc.records import TRACE_VERSION, Failure, FailureKind, Field, Origin, Step, Trace

ACTIONS = {"Pump.Unpack", "Pump.Deliver", "Consumer.Wait"}
FAILURE = Failure(FailureKind.LOST_WAKEUP, "a waits for ever")


class Op(msgspec.Struct):
    """One operation of a hand-made task, and what it does to the state."""

    action: str
    fields: Mapping[str, Field] = {}
    effect: Callable[[dict[str, object]], object] = lambda state: None
    needs: str | None = None  # enabled only while this is in the state
    where: str = "code.py:1 in f"


class FakeOffer(msgspec.Struct):
    """What a task would do next."""

    task: str
    action: str
    fields: Mapping[str, Field]
    enabled: bool
    blocked_on: str | None
    where: str


class FakeCode:
    """Tasks as lists of operations over one dictionary of state."""

    def __init__(self, tasks: dict[str, list[Op]], failure: Failure | None = None) -> None:
        self.left = {name: list(ops) for name, ops in tasks.items()}
        self.taken: list[str] = []
        self.finished_after: int | None = None
        self._failure = failure
        self._state: dict[str, object] = {"cached": set()}

    def offers(self) -> Sequence[FakeOffer]:
        return [
            FakeOffer(task, op.action, op.fields, op.needs is None or op.needs in self._state, op.needs, op.where)
            for task, ops in self.left.items()
            for op in ops[:1]
        ]

    def take(self, task: str) -> None:
        op = self.left[task].pop(0)
        self.taken.append(f"{task}:{op.action}")
        op.effect(self._state)

    def pass_time(self) -> bool:
        if self.left.get("timer") and not any(offer.enabled for offer in self.offers()):
            self._state["late"] = True
            return self.left["timer"][0].needs == "late"
        return False

    def state(self) -> Mapping[str, object]:
        return self._state

    def finish(self) -> Failure | None:
        self.finished_after = len(self.taken)
        return self._failure


def step(task: str, action: str, cached: list[str] | None = None, **fields: Field) -> Step:
    state = None if cached is None else {"cached": {"#set": cached}, "ghost": 7}
    return Step(task=task, action=action, fields=fields, state=state)


def trace(*steps: Step) -> Trace:
    return Trace(version=TRACE_VERSION, scenario="world", origin=Origin.MODEL, steps=steps)


def cache(state: dict[str, object]) -> None:
    state["cached"] = {"a"}


WALK = trace(
    step("pump", "Pump.Unpack", [], output="a"),
    step("consumer a", "Consumer.Wait", [], output="a"),
    step("pump", "Pump.Deliver", ["a"], output="a"),
)


def run(tasks: dict[str, list[Op]], *, of: Trace = WALK, failure: Failure | None = None) -> tuple[Followed, FakeCode]:
    code = FakeCode(tasks, failure)
    return follow(of, code, actions=ACTIONS, internal_steps=20), code


def test_defective_code_follows_state_by_state_and_fails() -> None:
    """Every step taken in the order of the trace, every state the model's, and a failure at the end: reproduced."""
    followed, code = run(
        {
            "pump": [
                Op("Pump.Unpack", {"output": "a"}),
                Op("Pump.Deliver", {"output": "a"}, cache, where="out.py:8 in f"),
            ],
            "consumer a": [Op("Consumer.Wait", {"output": "a"})],
        },
        failure=FAILURE,
    )
    assert code.taken == ["pump:Pump.Unpack", "consumer a:Consumer.Wait", "pump:Pump.Deliver"]
    places = ("code.py:1 in f", "code.py:1 in f", "out.py:8 in f")
    assert followed == Followed(steps=3, places=places, failure=FAILURE, rests=True)
    assert followed.reproduced
    assert followed.way == "All 3 steps ran, with the state of the model after each."


def test_it_is_told_whether_the_code_could_go_on() -> None:
    """Behind the last step: with a step of the model, and not with others."""
    unpack = trace(step("pump", "Pump.Unpack", [], output="a"))
    ended, _ = run({"pump": [Op("Pump.Unpack"), Op("queue.get")], "clock": [Op("time.sleep")]}, of=unpack)
    blocked, _ = run({"pump": [Op("Pump.Unpack"), Op("Pump.Deliver", needs="item")]}, of=unpack)
    able, _ = run({"pump": [Op("Pump.Unpack"), Op("Pump.Deliver")]}, of=unpack)
    assert (ended.rests, blocked.rests, able.rests) == (True, True, False)


def test_code_that_differs_departs_at_a_line_and_goes_on() -> None:
    """The first difference is told, with both values and the place; the walk goes on, and ends well."""
    followed, code = run(
        {
            "pump": [Op("Pump.Unpack"), Op("Pump.Deliver", where="outputs.py:119 in deliver")],
            "consumer a": [
                Op("Consumer.Wait", effect=lambda state: state.update(cached={"b"}), where="outputs.py:131 in wait")
            ],
        }
    )
    assert len(code.taken) == 3
    assert followed.departure is not None
    assert followed.departure.step == 2
    assert followed.departure.differences == (Difference("cached", "{}", '{"b"}'),)
    assert not followed.reproduced
    assert followed.failure is None
    assert followed.way == (
        'All 3 steps ran, but after step 2 at outputs.py:131 in wait cached is {"b"}; in the model it is {}.'
    )


def test_variables_that_the_projection_leaves_out_are_not_compared() -> None:
    """The model's ghosts have no counterpart: here the variable ghost differs, or rather is not there."""
    followed, _ = run(
        {"pump": [Op("Pump.Unpack"), Op("Pump.Deliver", effect=cache)], "consumer a": [Op("Consumer.Wait")]}
    )
    assert followed.departure is None


def test_internal_operations_are_passed_as_long_as_there_are_any() -> None:
    """The model does not speak of queues and locks: it is compared when the code has come to rest, and not before."""
    followed, code = run(
        {
            "other": [Op("lock.acquire"), Op("lock.release")],
            "pump": [
                Op("queue.get", needs="item"),
                Op("Pump.Unpack"),
                Op("time.sleep"),
                Op("Pump.Deliver", effect=cache),
            ],
            "worker": [Op("queue.put", effect=lambda state: state.update(item=1))],
            "consumer a": [Op("loop.call"), Op("Consumer.Wait")],
        }
    )
    assert followed.refusal is None
    assert code.taken == [
        "other:lock.acquire",
        "other:lock.release",
        "worker:queue.put",
        "pump:queue.get",
        "consumer a:loop.call",
        "pump:Pump.Unpack",
        "pump:time.sleep",
        "consumer a:Consumer.Wait",
        "pump:Pump.Deliver",
    ]


def test_what_follows_a_step_by_itself_belongs_to_it() -> None:
    """Here the pump puts its output down in an operation of its own, before anybody else has a turn."""
    followed, _ = run(
        {
            "pump": [Op("Pump.Unpack"), Op("Pump.Deliver"), Op("table.put", effect=cache)],
            "consumer a": [Op("Consumer.Wait")],
        }
    )
    assert followed.departure is None


def test_time_passes_only_where_the_trace_has_to_wait_for_it() -> None:
    """A deadline comes when a step is wanted that nobody can lead to, and not before."""
    timer = [Op("time.sleep", needs="late", effect=lambda state: state.update(item=1)), Op("time.sleep", needs="never")]
    followed, code = run(
        {"pump": [Op("Pump.Unpack", needs="item"), Op("Pump.Deliver", effect=cache)], "timer": timer, "consumer a": []}
        | {"consumer a": [Op("Consumer.Wait")]}
    )
    assert followed.refusal is not None
    assert code.taken == []
    followed, code = run({"pump": [Op("Pump.Unpack", needs="item")], "timer": timer}, of=trace(WALK.steps[0]))
    assert followed.refusal is None
    assert code.taken == ["timer:time.sleep", "pump:Pump.Unpack"]


def test_what_an_agent_does_is_its_step_whatever_it_is_called() -> None:
    """A fault happens when the trace says so, and not as an internal operation."""
    code = FakeCode({"kill(worker)": [Op("fault.kill")], "pump": [Op("Pump.Unpack")]})
    walk = trace(step("pump", "Pump.Unpack"), step("kill(worker)", "Fault.Kill"))
    followed = follow(walk, code, actions=ACTIONS, is_agent=lambda task: task == "kill(worker)")
    assert followed.refusal is None
    assert code.taken == ["pump:Pump.Unpack", "kill(worker):fault.kill"]


def test_a_task_that_must_do_something_else_first_refuses() -> None:
    """The reference takes another action of the model first: refused at once, with the line where it stands."""
    followed, _ = run(
        {
            "pump": [Op("Pump.Unpack"), Op("Pump.Deliver")],
            "consumer a": [Op("Consumer.Cancel"), Op("Consumer.Wait", {"output": "b"}, where="outputs.py:130 in wait")],
            "clock": [Op("time.sleep")] * 9,
        }
    )
    assert followed.steps == 1
    assert followed.refusal is not None
    assert followed.refusal.step == 2
    assert followed.refusal.where == "outputs.py:130 in wait"
    assert followed.refusal.why == "'consumer a' is at Consumer.Wait(output=b) instead"
    assert followed.failure is None
    assert followed.way == (
        "Step 2, consumer a: Consumer.Wait(output=a), was refused at outputs.py:130 in wait: "
        "'consumer a' is at Consumer.Wait(output=b) instead."
    )


def test_a_blocked_task_refuses_with_what_it_waits_for() -> None:
    """Here the lock that the reference holds across both steps."""
    followed, _ = run(
        {"pump": [Op("Pump.Unpack"), Op("Pump.Deliver")], "consumer a": [Op("Consumer.Wait", needs="lock 1 of pump")]}
    )
    assert followed.refusal is not None
    assert followed.refusal.why == "'consumer a' is at Consumer.Wait() and waits for lock 1 of pump"


def test_a_task_that_has_ended_refuses() -> None:
    """There is no line to tell."""
    followed, _ = run({"pump": [Op("Pump.Unpack"), Op("Pump.Deliver")]})
    assert followed.refusal is not None
    assert (followed.refusal.why, followed.refusal.where) == ("the task 'consumer a' has ended, or never began", None)


def test_internal_operations_are_bounded() -> None:
    """A task that polls for ever ends the wait, and not the patience."""
    followed, code = run({"pump": [Op("queue.get")] * 100})
    assert followed.refusal is not None
    assert followed.refusal.why == "it did not come within 20 operations that the model does not speak of"
    assert len(code.taken) == 20


@pytest.mark.parametrize(
    ("fields", "matches"),
    [
        ({"output": "a"}, True),
        ({"output": "a", "bytes": 3}, True),
        ({}, True),
        ({"output": "b"}, False),
        ({"output": "b", "bytes": 3}, False),
    ],
)
def test_fields_that_both_have_must_agree(fields: dict[str, Field], matches: bool) -> None:
    """The code may tell more than the model, or less, but nothing else."""
    followed, _ = run({"pump": [Op("Pump.Unpack", fields)]}, of=trace(step("pump", "Pump.Unpack", output="a")))
    assert (followed.refusal is None) == matches


def test_actions_of_the_model_are_never_taken_out_of_turn() -> None:
    """Another task's step that the trace does not ask for now waits, even if nothing else can move."""
    followed, code = run(
        {
            "pump": [Op("Pump.Unpack", needs="item")],
            "consumer b": [Op("Consumer.Wait", effect=lambda s: s.update(item=1))],
        }
    )
    assert followed.refusal is not None
    assert followed.refusal.step == 1
    assert code.taken == []
