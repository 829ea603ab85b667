"""Step execution: whoever waits for an answer reads it, and there is no pump."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from omni_ipc.errors import OmniError, PeerDied, PeerFailed, ShutdownError, Timeout
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.messages import ComputeDone, Execute, Returned
from omni_ipc.serving.pending import Pending
from omni_ipc.serving.requests import Request
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.transport.wire import RemoteError
from tests.support.scripted import PATIENT, Asked, Scripted, scripted

RT = NativeRuntime()
DIED = PeerDied("The worker process 7", "killed by SIGKILL")
STEPWISE = msgspec.structs.replace(PATIENT, step_execution=True)


@pytest.fixture
def stepping() -> Iterator[tuple[Executor, Scripted]]:
    executor, link = scripted(RT, ranks=2, config=STEPWISE)
    executor.start()
    yield executor, link
    link.say_goodbye()
    executor.shutdown()


def test_in_step_execution_the_caller_reads_its_answer_itself(stepping: tuple[Executor, Scripted]) -> None:
    """There is no pump; rank 0's answer carries the values, None for what goes on, an error for what failed alone."""
    executor, link = stepping
    asked = Asked(executor.step, [Request("x"), Request("y"), Request("z")])
    job = link.hear_call()
    assert isinstance(job, Execute)
    assert job.step
    link.say(ComputeDone(job.rpc, job.epoch, 1, execution_s=2.0))
    errors = {2: RemoteError.from_exception(ValueError("cannot travel"))}
    link.say(ComputeDone(job.rpc, job.epoch, 0, execution_s=1.0, errors=errors), [None, "picture", None])
    stepped = asked.result()
    assert stepped.values[:2] == [None, "picture"]
    assert isinstance(stepped.values[2], PeerFailed)
    assert stepped.execution_s == 2.0
    assert executor.describe() == Pending()


def test_in_step_execution_a_stale_answer_is_discarded(stepping: tuple[Executor, Scripted]) -> None:
    """One of a call that timed out does not answer the next."""
    executor, link = stepping
    with pytest.raises(Timeout, match="Of 2 workers, rank 0, 1 did not answer call 1"):
        executor.call("echo", timeout_s=0.01)
    late = link.hear_call()
    for rank in range(2):
        link.say(Returned(late.rpc, late.epoch, rank, "late"))
    asked = Asked(executor.call, "echo")
    call = link.hear_call()
    for rank in range(2):
        link.say(Returned(call.rpc, call.epoch, rank, rank))
    assert asked.result() == [0, 1]
    assert executor.statistics().discarded_answers == 2


def test_in_step_execution_two_callers_turn_the_pump_for_each_other(stepping: tuple[Executor, Scripted]) -> None:
    """Answers in the other order: each caller gets its own."""
    executor, link = stepping
    first = Asked(executor.call, "echo")
    one = link.hear_call()
    second = Asked(executor.call, "echo")
    two = link.hear_call()
    for call in (two, one):
        for rank in range(2):
            link.say(Returned(call.rpc, call.epoch, rank, call.rpc))
    assert (first.result(), second.result()) == ([1, 1], [2, 2])


def test_in_step_execution_a_death_is_met_by_whoever_waits(stepping: tuple[Executor, Scripted]) -> None:
    """The caller fails with it, and so does the next one, at once."""
    executor, link = stepping
    link.deaths[1] = DIED
    for _ in range(2):
        with pytest.raises(PeerDied, match="killed by SIGKILL"):
            executor.step([Request("x")])
    with pytest.raises(PeerDied, match="killed by SIGKILL"):
        executor.check_health()


def test_in_step_execution_a_death_is_told_once_to_two_who_wait_for_answers() -> None:
    """Whichever of them turns the pump when it ends: the other does not turn it again, and both get the death."""

    def scenario(rt: ControlledRuntime) -> str:
        executor, link = scripted(rt, config=STEPWISE)
        link.deaths[0] = DIED
        told: list[OmniError] = []
        executor.on_failure(told.append)
        endings: list[str] = []

        def call() -> None:
            try:
                executor.call("echo")
            except OmniError as error:
                endings.append(str(error))

        tasks = [rt.spawn(call, name=f"caller {number}") for number in range(2)]
        for task in tasks:
            task.join()
        link.say_goodbye()
        executor.shutdown()
        assert told == [DIED]
        assert executor._pump.ended is DIED
        return " ".join(sorted(endings))

    report = explore(scenario, strategy="random", runs=200, declared=True)
    assert report.failure is None
    assert set(report.outcomes) == {repr(f"{DIED} {DIED}")}


def test_in_step_execution_a_shutdown_waits_for_the_goodbye() -> None:
    """What is still said before it is taken."""
    executor, link = scripted(RT, config=STEPWISE)
    executor.start()
    worker = RT.spawn(link.serve, name="worker")
    assert executor.call("echo") == [0]
    assert executor.shutdown()
    worker.join()
    with pytest.raises(ShutdownError):
        executor.step([Request("x")])
