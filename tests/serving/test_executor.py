"""The executor: calls to all ranks, and what comes late; the workers say what the test lets them say."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from omni_ipc.errors import PeerFailed, Timeout, UsageError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.messages import (
    Call,
    CallFailed,
    ComputeDone,
    ComputeFailed,
    Execute,
    OutputReady,
    Returned,
)
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending
from omni_ipc.serving.requests import Request
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.transport.wire import RemoteError
from tests.support.scripted import PATIENT, Asked, Scripted, scripted

RT = NativeRuntime()
SHORT = ServingConfig(
    output_timeout_s=0.05, rpc_timeout_s=0.05, drain_timeout_s=0.01, rank_grace_s=0.05, shutdown_timeout_s=5.0
)
EMPTY = Pending()


@pytest.fixture
def two() -> Iterator[tuple[Executor, Scripted]]:
    """Two ranks, and an executor that has been started."""
    executor, link = scripted(RT, ranks=2)
    executor.start()
    yield executor, link
    link.say_goodbye()
    executor.shutdown()


# Calls to every rank


def test_a_forward_is_done_when_every_rank_is(two: tuple[Executor, Scripted]) -> None:
    """The slowest rank's time counts, and the ids are those that consumers wait for."""
    executor, link = two
    asked = Asked(executor.execute, [Request("x"), Request("y")])
    job = link.hear_call()
    assert isinstance(job, Execute)
    assert (job.output, job.split, job.step, [request.id for request in job.requests]) == ("1", True, False, ["x", "y"])
    link.say(ComputeDone(job.rpc, job.epoch, 1, execution_s=3.0))
    link.say(ComputeDone(job.rpc, job.epoch, 0, execution_s=2.0, stages={"denoise": 1.5}))
    assert asked.result() == (("1/1", "1/2"), 3.0, {"denoise": 1.5})


def test_the_inputs_of_requests_travel_beside_the_command() -> None:
    """The command holds none of their bytes."""
    executor, link = scripted(RT)
    executor.start()
    picture = np.arange(6)
    asked = Asked(executor.execute, [Request("x", inputs={"image": picture}), Request("y")])
    packet = link._commands.receive(timeout=10)
    job = packet.message
    assert isinstance(job, Execute)
    assert [request.inputs for request in job.requests] == [None, None]
    assert packet.unpack() == [{"image": picture}, None]
    link.say(ComputeDone(job.rpc, job.epoch, 0, 0.0))
    asked.result()
    link.say_goodbye()
    executor.shutdown()


def test_a_call_returns_one_value_a_rank(two: tuple[Executor, Scripted]) -> None:
    """In the order of the ranks, whatever the order of the answers."""
    executor, link = two
    asked = Asked(executor.call, "sleep", level=1)
    call = link.hear_call()
    assert isinstance(call, Call)
    assert (call.method, call.arguments) == ("sleep", {"level": 1})
    link.say(Returned(call.rpc, call.epoch, 1, "one"))
    link.say(Returned(call.rpc, call.epoch, 0, "zero"))
    assert asked.result() == ["zero", "one"]


def test_every_rank_s_failure_is_told(two: tuple[Executor, Scripted]) -> None:
    """Of a call, and of a forward; the outputs of a forward that failed are settled."""
    executor, link = two
    first, second = (RemoteError.from_exception(ValueError(text)) for text in ("no memory", "no peer"))
    asked = Asked(executor.call, "wake")
    call = link.hear_call()
    link.say(CallFailed(call.rpc, call.epoch, 0, first))
    link.say(CallFailed(call.rpc, call.epoch, 1, second))
    with pytest.raises(PeerFailed, match=r"(?s)2 of 2 workers failed.*rank 0: .*no memory.*rank 1: .*no peer"):
        asked.result()
    asked = Asked(executor.execute, [Request("x")])
    call = link.hear_call()
    link.say(ComputeDone(call.rpc, call.epoch, 0, 0.0))
    link.say(ComputeFailed(call.rpc, call.epoch, 1, second))
    with pytest.raises(PeerFailed, match=r"(?s)1 of 2 workers failed.*rank 1: .*no peer"):
        asked.result()
    with pytest.raises(UsageError, match="Output '1' is settled"):
        executor.wait("1")
    assert executor.describe() == EMPTY


def test_a_request_that_failed_alone_on_some_ranks_is_told_and_its_sibling_delivered(
    two: tuple[Executor, Scripted],
) -> None:
    """Rank 0 has an output for both; which is of no use where another rank has failed."""
    executor, link = two
    asked = Asked(executor.execute, [Request("x"), Request("y")])
    call = link.hear_call()
    link.say(OutputReady("1", split=True), ["one", "two"])
    for rank in range(2):
        errors = {1: RemoteError.from_exception(ValueError(f"no memory on {rank}"))}
        link.say(ComputeDone(call.rpc, call.epoch, rank, 0.0, errors=errors))
    good, bad = asked.result().outputs
    assert executor.result(good, executor.wait(good)) == "one"
    with pytest.raises(PeerFailed, match=r"The worker of rank 0 failed with builtins\.ValueError: no memory on 0"):
        executor.result(bad, executor.wait(bad))


def test_a_rank_that_hangs_with_one_that_failed_is_not_waited_for() -> None:
    """It gets a grace to tell its own failure; then the caller learns of both, and the engine is not healthy."""
    config = msgspec.structs.replace(PATIENT, rank_grace_s=0.01)
    executor, link = scripted(RT, ranks=2, config=config)
    executor.start()
    asked = Asked(executor.execute, [Request("x")])
    call = link.hear_call()
    link.say(ComputeFailed(call.rpc, call.epoch, 0, RemoteError.from_exception(ValueError("no memory"))))
    with pytest.raises(PeerFailed, match=r"(?s)rank 0: .*no memory.*rank 1 has not answered"):
        asked.result()
    with pytest.raises(Timeout, match="worker of rank 1 is stuck: it has not answered call 1"):
        executor.check_health()
    assert executor.describe() == EMPTY
    link.say_goodbye()
    executor.shutdown()


def test_the_failure_of_a_second_rank_is_waited_for() -> None:
    """It comes within the grace, and is told together with the first."""

    def scenario(rt: ControlledRuntime) -> str:
        executor, link = scripted(rt, ranks=2)
        executor.start()
        told: list[str] = []

        def call() -> None:
            with pytest.raises(PeerFailed) as caught:
                executor.call("wake")
            told.append(str(caught.value))

        caller = rt.spawn(call, name="caller")
        asked = link.hear_call()
        for rank, text in ((1, "no memory"), (0, "no peer")):
            link.say(CallFailed(asked.rpc, asked.epoch, rank, RemoteError("builtins.ValueError", text, "")))
            rt.sleep(PATIENT.rank_grace_s / 2)
        caller.join()
        link.say_goodbye()
        executor.shutdown()
        return told[0]

    report = explore(scenario, strategy="random", runs=50, declared=True)
    assert report.failure is None
    (told,) = report.outcomes
    assert "no peer" in told
    assert "no memory" in told


# Answers and outputs that come late, or not at all


def test_a_wait_that_times_out_leaves_nothing_in_the_table() -> None:
    """The error tells what was pending; afterwards neither the output nor the call is kept."""
    executor, _ = scripted(RT, config=SHORT)
    output = executor.mint(1).output
    with pytest.raises(Timeout, match=r"waiting 1 \[1\].*set output_timeout_s=0.05 to a larger value"):
        executor.result(output, executor.wait(output))
    with pytest.raises(Timeout, match=r"rpcs 1 \[1\].*set rpc_timeout_s to a larger value"):
        executor.execute([Request("x")])
    assert executor.describe() == EMPTY


def test_an_answer_that_comes_late_is_not_taken_for_the_next_call_s() -> None:
    """It is discarded and counted; the next call gets its own."""
    executor, link = scripted(RT)
    executor.start()
    with pytest.raises(Timeout, match=r"The worker did not answer call 1 of echo\(\) within 0.01 s"):
        executor.call("echo", timeout_s=0.01)
    late = link.hear_call()
    asked = Asked(executor.call, "echo")
    call = link.hear_call()
    link.say(Returned(late.rpc, late.epoch, 0, "late"))
    link.say(Returned(call.rpc, call.epoch, 0, "in time"))
    assert asked.result() == ["in time"]
    assert executor.statistics().discarded_answers == 1
    link.say_goodbye()
    executor.shutdown()


def test_an_answer_to_another_engine_is_nobody_s() -> None:
    """The calls of both have the same number, and different waves."""
    link = Scripted(RT)
    executor = Executor(rt=RT, link=link, table=OutputTable(rt=RT, epoch=2), config=PATIENT, epoch=2)
    executor.start()
    asked = Asked(executor.call, "echo")
    call = link.hear_call()
    assert (call.rpc, call.epoch) == (1, 2)
    link.say(Returned(1, 1, 0, "of the first engine"))
    link.say(Returned(1, 2, 0, "of the second"))
    assert asked.result() == ["of the second"]
    link.say_goodbye()
    executor.shutdown()


def test_an_answer_that_comes_at_the_last_moment_is_taken() -> None:
    """The wait for it has timed out, and before the call is given up it is there."""
    executor, _ = scripted(RT)

    def too_short(future: object, timeout_s: float) -> None:
        executor._table.settle_rpc(1, "late")
        raise TimeoutError

    executor._pumping.wait = too_short  # type: ignore[method-assign]
    assert executor.call("echo") == ["late"]


class _LateTable(OutputTable):
    """Delivers the output just when its consumer has given up, and before it is forgotten."""

    def describe(self) -> Pending:
        self.deliver("1", "late")
        return super().describe()


def test_an_output_that_comes_at_the_last_moment_is_delivered() -> None:
    """Between the time-out and the forgetting the output arrives: it is taken, and not lost."""
    executor, _ = scripted(RT, config=SHORT, table=_LateTable(rt=RT))
    output = executor.mint(1).output
    assert executor.result(output, executor.wait(output)) == "late"


def test_a_command_that_cannot_be_sent_leaves_nothing(two: tuple[Executor, Scripted]) -> None:
    """Its caller gets the error; neither the call nor its outputs are kept, and no rank counts as stuck."""
    executor, link = two

    def refuse(message: object, payload: object = None) -> None:
        raise UsageError("This cannot travel.")

    link.requests.send = refuse  # type: ignore[method-assign]
    with pytest.raises(UsageError, match="cannot travel"):
        executor.execute([Request("x")])
    assert executor.describe() == EMPTY
    executor.check_health()
    del link.requests.send
