"""The dispatcher: whole requests in a forward each, or step by step; whatever ends it, nobody waits for it in vain."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence

import pytest

from omni_ipc.errors import InternalError, PeerFailed
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome, RequestOutput
from omni_ipc.testbed import ControlledRuntime
from tests.serving.exhausting import exhaust
from tests.support.table_executor import EXECUTION_S, STAGES, Stepped, TableExecutor, assert_settled, engine_over, gated
from tests.support.waiting import until

A, B = map(Request, "ab")
STEPS = EngineConfig(output_timeout_s=1.0, drain_timeout_s=0.5, shutdown_timeout_s=1.0, step_execution=True)


def test_requests_that_wait_together_are_computed_together() -> None:
    """While one batch is computed the next one gathers."""
    rt = NativeRuntime()
    executor, computing, gate = gated(rt)
    with engine_over(rt, executor) as engine:
        streams = [engine.submit(A)]
        assert computing.wait(30)
        streams += [engine.submit(Request(name)) for name in "bcd"]
        gate.set()
        assert [stream.result().value for stream in streams] == list("abcd")
    assert executor.batches == [["a"], ["b", "c", "d"]]
    assert_settled(engine, executor)


def test_a_forward_that_fails_fails_its_batch_alone() -> None:
    """With the worker's own error; the next request is served."""
    rt = NativeRuntime()
    errors = [PeerFailed("The worker raised.")]

    def fail_once() -> None:
        if errors:
            raise errors.pop()

    executor = TableExecutor(rt, computing=fail_once)
    with engine_over(rt, executor) as engine:
        with pytest.raises(PeerFailed, match="The worker raised"):
            engine.generate(A)
        assert engine.generate(B).value == "b"
    assert engine.statistics().ended[Outcome.ERROR] == 1
    assert_settled(engine, executor)


def test_a_fault_of_ours_costs_its_batch_and_no_more() -> None:
    """Whatever is raised while a batch is sent, its requests are told, and the next ones are served."""
    rt = NativeRuntime()
    errors = [MemoryError("no room")]

    def fail_once() -> None:
        if errors:
            raise errors.pop()

    executor = TableExecutor(rt, computing=fail_once)
    with engine_over(rt, executor) as engine:
        with pytest.raises(InternalError, match=r"A batch could not be dispatched: MemoryError\('no room'\)"):
            engine.generate(A)
        assert engine.generate(B).value == "b"
    assert_settled(engine, executor)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_dispatcher_that_dies_takes_the_health_with_it() -> None:
    """A fault of ours: what is open fails at once, and what comes later is refused."""
    rt = NativeRuntime()

    def break_down() -> None:
        raise GeneratorExit

    executor = TableExecutor(rt, computing=break_down)
    with engine_over(rt, executor) as engine:
        engine.check_health()
        with pytest.raises(InternalError, match="dispatcher ended unexpectedly"):
            engine.generate(A)
        for call in (engine.check_health, lambda: engine.submit(B)):
            with pytest.raises(InternalError, match="dispatcher ended unexpectedly"):
                call()
    assert engine.statistics().open == 0


def test_step_by_step_a_request_takes_as_long_as_its_steps() -> None:
    """The output comes with the last answer, and its times are those of its own steps."""
    rt = NativeRuntime()
    executor = TableExecutor(rt, steps=3)
    with engine_over(rt, executor, STEPS) as engine:
        took = engine.generate(A)
    assert took == RequestOutput("a", "a", 3 * EXECUTION_S, 0.0, {"denoise": 3 * STAGES["denoise"]})
    assert executor.batches == [["a"]] * 3
    assert_settled(engine, executor)


def test_step_by_step_the_inputs_of_a_request_are_sent_once() -> None:
    """With its first step: what is large does not travel again and again."""
    rt = NativeRuntime()
    inputs: list[object] = []

    class Noting(TableExecutor):
        def step(self, requests: Sequence[Request]) -> Stepped:
            inputs.extend(request.inputs for request in requests)
            return super().step(requests)

    with engine_over(rt, Noting(rt, steps=3), STEPS) as engine:
        engine.generate(Request("a", inputs=["latents"]))
    assert inputs == [["latents"], None, None]


def test_step_by_step_requests_of_one_id_are_told_apart() -> None:
    """By the number of their admission, in every step; what the client wrote there means nothing."""
    rt = NativeRuntime()
    numbers: list[list[int]] = []
    reached, go_on = rt.event(), rt.event()

    class Noting(TableExecutor):
        def step(self, requests: Sequence[Request]) -> Stepped:
            numbers.append([request.number for request in requests])
            reached.set()
            go_on.wait(30)
            return Stepped([None if len(numbers) < 3 else request.id for request in requests])

    with engine_over(rt, Noting(rt), STEPS) as engine:
        streams = [engine.submit(A)]
        assert reached.wait(30)
        streams += [engine.submit(A), engine.submit(Request("a", number=1))]
        go_on.set()
        assert [stream.result().value for stream in streams] == ["a", "a", "a"]
    assert numbers == [[1], [1, 2, 3], [1, 2, 3]]


def test_step_by_step_an_output_is_its_consumers_alone() -> None:
    """It comes in memory that the worker gets back once its consumer is done with it, not once there is more to do."""
    rt = NativeRuntime()
    made: list[weakref.ref[object]] = []

    class Making(TableExecutor):
        def step(self, requests: Sequence[Request]) -> Stepped:
            values = [type("Output", (), {})() for _ in requests]
            made.extend(map(weakref.ref, values))
            return Stepped(values)

    with engine_over(rt, Making(rt), STEPS) as engine:
        output = engine.generate(A)
        assert output.value is made[0]()
        del output
        until(lambda: gc.collect() >= 0 and made[0]() is None)


def test_step_by_step_others_join_and_leave_in_between() -> None:
    """One that is aborted is missing from the next step; one that comes is in it."""
    rt = NativeRuntime()
    reached, go_on = rt.queue(), rt.queue()
    executor = TableExecutor(rt, steps=3, computing=lambda: (reached.put(None), go_on.get(timeout=30)))
    with engine_over(rt, executor, STEPS) as engine:
        streams = [engine.submit(A)]
        reached.get(timeout=30)
        streams.append(engine.submit(B))
        go_on.put(None)
        reached.get(timeout=30)
        engine.abort("a")
        for _ in range(3):
            go_on.put(None)
        assert streams[1].result().value == "b"
    assert executor.batches == [["a"], ["a", "b"], ["b"], ["b"]]
    assert_settled(engine, executor)


def test_step_by_step_a_shutdown_ends_between_two_steps() -> None:
    """What is not done gets the shutdown error; what is done stays with its stream; in every order."""
    seen = set()

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt, steps=2)
        engine = engine_over(rt, executor, STEPS)
        stream = engine.submit(A)
        engine.shutdown()
        try:
            seen.add(stream.result().value)
        except Exception as error:
            seen.add(type(error).__name__)
        assert_settled(engine, executor)

    exhaust(scenario)
    assert seen == {"a", "ShutdownError"}
