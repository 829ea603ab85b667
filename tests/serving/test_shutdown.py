"""The end of an executor: bounded, with nothing pending behind it, whatever the workers do."""

from __future__ import annotations

import msgspec
import pytest

from omni_ipc.errors import PeerClosed, ShutdownError
from omni_ipc.records import Verdict
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.messages import Command, ComputeDone, Execute, OutputReady, Stop
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending
from omni_ipc.serving.requests import Request
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import plain_lane
from tests.support.scripted import PATIENT, Asked, Scripted, scripted

RT = NativeRuntime()


def test_shutdown_without_a_start_fails_what_waits_and_what_comes() -> None:
    """The pump never ran, and all the same nothing stays pending."""
    executor, _ = scripted(RT)
    first, second = executor.mint(2).outputs
    future = executor.wait(first)
    executor.shutdown()
    with pytest.raises(ShutdownError):
        future.result(0)
    with pytest.raises(ShutdownError):
        executor.wait(second)


def test_a_worker_that_ends_unasked_is_no_shutdown() -> None:
    """Pending work fails with what happened, and a shutdown afterwards is told apart from it."""
    executor, link = scripted(RT)
    executor.start()
    future = executor.wait(executor.mint(1).output)
    link.say_goodbye()
    with pytest.raises(PeerClosed, match="ended without being asked to"):
        future.result(10)
    assert executor.shutdown()


def test_from_its_beginning_a_shutdown_refuses_what_is_new_and_takes_what_still_comes() -> None:
    """A call that is under way is answered, an awaited output arrives; new calls and waits fail at once."""
    executor, link = scripted(RT)
    executor.start()
    minted = executor.mint(1)
    asked = Asked(executor.execute, [Request("x")], minted)
    call = link.hear_call()
    future = executor.wait(minted.output)
    later = executor.mint(1).output
    ending = Asked(executor.shutdown)
    assert isinstance(link.hear(), Stop)
    for new in (lambda: executor.wait(later), lambda: executor.call("echo"), lambda: executor.mint(2)):
        with pytest.raises(ShutdownError):
            new()
    link.say(ComputeDone(call.rpc, call.epoch, 0, 0.0))
    assert asked.result().outputs == (minted.output,)
    link.say(OutputReady(minted.output, split=False), "picture")
    assert future.result(10) == "picture"
    link.say_goodbye()
    assert ending.result()
    assert executor.describe() == Pending()


def test_a_shutdown_that_hears_no_goodbye_ends_all_the_same() -> None:
    """In bounded time, with nothing pending; it says that the workers said nothing."""
    executor, link = scripted(RT, config=msgspec.structs.replace(PATIENT, shutdown_timeout_s=0.05))
    sent: list[object] = []
    link.requests.send = lambda message, payload=None: sent.append(message)  # type: ignore[method-assign]
    executor.start()
    future = executor.wait(executor.mint(1).output)
    assert not executor.shutdown()
    with pytest.raises(ShutdownError):
        future.result(0)
    assert not executor.shutdown(), "and again"
    assert sent == [Stop()]


def test_a_shutdown_does_not_wait_for_ever_for_who_sends() -> None:
    """Somebody is stuck in the middle of a send, and holds the lane."""
    executor, link = scripted(RT, config=msgspec.structs.replace(PATIENT, shutdown_timeout_s=0.05))
    executor.start()
    inside, go_on = RT.event(), RT.event()

    def stuck(message: object, payload: object = None) -> None:
        inside.set()
        go_on.wait(30)

    link.requests.send = stuck  # type: ignore[method-assign]
    asked = Asked(executor.execute, [Request("x")])
    assert inside.wait(10)
    assert not executor.shutdown()
    assert executor.describe() == Pending()
    go_on.set()
    with pytest.raises(ShutdownError):
        asked.result()


def test_two_dispatchers_share_the_request_lane_in_turns() -> None:
    """In every order both calls are answered: the lane has one writer at a time."""

    def scenario(rt: ControlledRuntime) -> str:
        lane = plain_lane(1024, rt=rt)
        bell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        requests: PortReceiver[Command] = PortReceiver(Port(rt=rt, lanes=[LaneReader(lane)], doorbell=bell), Command)
        link = Scripted(rt)
        link.requests = LaneSender(LaneWriter(lane, doorbell=bell), timeout=1.0)  # type: ignore[assignment]
        executor = Executor(
            rt=rt,
            link=link,
            table=OutputTable(rt=rt),
            config=ServingConfig(rpc_timeout_s=1.0, shutdown_timeout_s=1.0, poll_s=10.0),
        )
        executor.start()
        tasks = [rt.spawn(executor.execute, [Request(name)], name=f"dispatcher {name}") for name in "ab"]
        with rt.region("Worker.Serve"):
            for _ in tasks:
                job = requests.receive(timeout=10.0).message
                assert isinstance(job, Execute)
                link.say(ComputeDone(job.rpc, job.epoch, 0, execution_s=0.0))
        for task in tasks:
            task.join()
        link.say_goodbye()
        return str(executor.shutdown())

    report = explore(scenario, transparent=("Dispatcher.Send",), strategy="random", runs=300)
    assert report.failure is None
    assert (report.verdict, report.outcomes) == (Verdict.BOUNDED, ("'True'",))
