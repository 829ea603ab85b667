"""Counterexamples of the real models, as traces that code can be driven along."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from omni_ipc.conformance.counterexamples.counterexample import find_counterexample, save_itf, to_trace
from omni_ipc.conformance.models.manifest import Manifest, Model
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.result import Kind, Result, State
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Origin, Trace
from omni_ipc.values import from_itf, normal
from tests.conformance.test_tlc import FakeJava

TASKS = {
    "Worker": "worker.output",
    "Pump": "pump",
    "Dispatcher": "dispatcher",
    "Consumer": "consumer {output}",
    "Writer": "{writer}",
    "Reader": "pump",
}
STEPS = {
    "late_split_map": [
        "worker.output: Worker.Announce(output=1)",
        "pump: Pump.Unpack(output=1)",
        "pump: Pump.TakeSplit(batch=1)",
        "dispatcher: Dispatcher.Expect(batch=1)",
        "consumer 1/1: Consumer.Wait(output=1/1)",
    ],
    "dual_writers": [
        "worker.main: Writer.Claim(writer=worker.main)",
        "worker.output: Writer.Claim(writer=worker.output)",
        "worker.main: Writer.Publish(writer=worker.main)",
        "worker.output: Writer.Publish(writer=worker.output)",
    ],
    "unpack_outside_lock": [
        "worker.output: Worker.Announce(output=1)",
        "pump: Pump.Unpack(output=1)",
        "consumer 1: Consumer.Wait(output=1)",
        "pump: Pump.Deliver(output=1)",
    ],
}
BAD_STATES = {
    "late_split_map": {"unsplit": {"1"}, "splits": {"1"}, "waiter": {"1/1": "waiting", "1/2": "absent"}},
    "dual_writers": {"sent": {"worker.main": 1, "worker.output": 1}, "write": {"worker.main": 2, "worker.output": 1}},
    "unpack_outside_lock": {"cached": {"1"}, "registered": {"1"}, "waiter": {"1": "waiting"}},
}


@pytest.fixture(scope="module")
def found(manifest: Manifest, toolchain: Toolchain) -> dict[str, Result]:
    """What the real TLC finds in each bug model, two at a time."""
    with ThreadPoolExecutor(2) as pool, Children() as children:
        results = pool.map(
            lambda defect: find_counterexample(
                manifest.counterexample_model(defect), manifest, toolchain=toolchain, children=children
            ),
            STEPS,
        )
        return dict(zip(STEPS, results, strict=True))


@pytest.mark.parametrize("defect", STEPS)
def test_a_counterexample_becomes_a_trace_with_parameters(
    manifest: Manifest, found: dict[str, Result], defect: str, tmp_path: Path
) -> None:
    """Tasks, regions and fields as the code has them, the state after each step, and all of it survives a file."""
    model = manifest.counterexample_model(defect)
    trace = to_trace(found[defect], model=model, scenario="world", tasks=TASKS)
    assert [str(step) for step in trace.steps] == STEPS[defect]
    assert (trace.origin, trace.scenario, trace.defect, trace.model) == (Origin.MODEL, "world", defect, model.name)
    assert trace.claim == model.expect.name
    assert trace.initial is not None
    last = trace.steps[-1].state
    assert last is not None
    for variable, value in BAD_STATES[defect].items():
        assert from_itf(last[variable]) == normal(value)
    assert Trace.load(trace.save(tmp_path / "x.trace.json")) == trace


def test_a_counterexample_is_written_as_itf(manifest: Manifest, found: dict[str, Result], tmp_path: Path) -> None:
    """A JSON document that other TLA+ tools read, with actions and parameters in the margin."""
    model = manifest.counterexample_model("unpack_outside_lock")
    path = save_itf(found["unpack_outside_lock"], tmp_path / "x.itf.json", model=model)
    document = msgspec.json.decode(path.read_bytes())
    assert document["vars"] == ["cached", "inbox", "pump", "registered", "waiter"]
    assert document["#meta"]["description"] == "invariant violated: NoStrandedOutputInv"
    assert document["states"][2]["#meta"]["action"] == 'PumpUnpack(output="1")'
    assert document["states"][2]["pump"] == {"at": "unpacked", "output": "1"}


@pytest.fixture
def model(manifest: Manifest) -> Model:
    return manifest.counterexample_model("late_split_map")


def test_a_lasso_is_walked_round_by_round(model: Model) -> None:
    """The closing step comes last, and leads back to the state that the loop began with; the way to it comes once."""
    first = State("PumpUnpack_Bug", {"n": 1}, {"output": "1"})
    lasso = Result(Kind.TEMPORAL, "", trace=(State(None, {"n": 0}), first), loop=0, closing=State("PumpStir", {"n": 0}))
    trace = to_trace(lasso, model=model, scenario="world", tasks=TASKS)
    assert [(str(step), step.state) for step in trace.steps] == [
        ("pump: Pump.Unpack(output=1)", {"n": 1}),
        ("pump: Pump.Stir()", {"n": 0}),
    ]

    loop = msgspec.structs.replace(lasso, loop=1, closing=State("PumpStir", {"n": 1}))
    thrice = to_trace(loop, model=model, scenario="world", tasks=TASKS, rounds=3)
    assert [step.action for step in thrice.steps] == ["Pump.Unpack", "Pump.Stir", "Pump.Stir", "Pump.Stir"]
    assert [step.action for step in to_trace(lasso, model=model, scenario="w", tasks=TASKS, rounds=2).steps] == [
        "Pump.Unpack",
        "Pump.Stir",
    ] * 2


def test_a_fault_is_a_step_of_its_agent(model: Model) -> None:
    """Whose name may have a parameter of the action."""
    killed = State("FaultKill", {"n": 1}, {"side": "writer"})
    result = Result(Kind.INVARIANT, "", trace=(State(None, {"n": 0}), killed))
    trace = to_trace(result, model=model, scenario="w", tasks={}, agents={"FaultKill": "kill({side})"})
    assert [str(step) for step in trace.steps] == ["kill(writer): Fault.Kill(side=writer)"]


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        (State("CatPurr", {}), "No task plays the actor 'Cat' of CatPurr()"),
        (State("ConsumerWait", {}), "The task 'consumer {output}' wants 'output'"),
        (State("PumpUnpack", {}, {"output": (1, 2)}), "is no string, integer or boolean"),
    ],
)
def test_what_no_task_can_play_is_told(model: Model, state: State, complaint: str) -> None:
    """An actor without a task, a task's name without its parameter, a parameter that is no field."""
    with pytest.raises(UsageError) as caught:
        to_trace(Result(Kind.INVARIANT, "", trace=(State(None, {}), state)), model=model, scenario="w", tasks=TASKS)
    assert complaint in str(caught.value)


def test_a_model_that_holds_has_no_counterexample(model: Model) -> None:
    """There is nothing to make a trace of."""
    with pytest.raises(UsageError, match="There is no counterexample to make a trace of"):
        to_trace(Result(Kind.SUCCESS, ""), model=model, scenario="w", tasks=TASKS)


def test_a_search_that_was_cut_short_is_inconclusive(manifest: Manifest, model: Model, fake_java: FakeJava) -> None:
    """Nothing found is not the same as nothing there."""
    with Children() as children, pytest.raises(Inconclusive, match=r"SplitMap/bug/late_split_map: TLC ended before"):
        find_counterexample(model, manifest, toolchain=fake_java("exit 1"), children=children)
