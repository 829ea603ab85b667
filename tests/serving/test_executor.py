"""The executor: late answers, a worker that ends unasked, and two dispatchers on one request lane."""

from __future__ import annotations

from typing import Any

import pytest

from omni_ipc.errors import PeerClosed, ShutdownError, Timeout
from omni_ipc.records import Verdict
from omni_ipc.scenarios.launch import TaskLink
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.messages import Command, ComputeDone, Execute, Reply
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending
from omni_ipc.serving.requests import Request
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

SHORT = ServingConfig(
    output_timeout_s=0.05, rpc_timeout_s=0.05, drain_timeout_s=0.01, rank_grace_s=0.05, shutdown_timeout_s=5.0
)
EMPTY = Pending()


def executor_without_worker(rt: Runtime, table: OutputTable) -> tuple[Executor, QueueLink[Reply]]:
    requests: QueueLink[Command] = QueueLink(rt=rt)
    results: QueueLink[Reply] = QueueLink(rt=rt)
    link = TaskLink(requests.writer(), results, join=lambda: None)
    return Executor(rt=rt, link=link, table=table, config=SHORT), results


def test_a_wait_that_times_out_leaves_nothing_in_the_table() -> None:
    """The error tells what was pending; afterwards neither the output nor the call is kept."""
    rt = NativeRuntime()
    table = OutputTable(rt=rt)
    executor, _ = executor_without_worker(rt, table)
    output = executor.mint(1).output
    with pytest.raises(Timeout, match=r"waiting 1 \[1\].*set output_timeout_s=0.05 to a larger value"):
        executor.result(output, executor.wait(output))
    with pytest.raises(Timeout, match=r"rpcs 1 \[1\].*set rpc_timeout_s to a larger value"):
        executor.execute([Request("x")])
    assert table.describe() == EMPTY


class _LateTable(OutputTable):
    """Delivers the output just when its consumer has given up, and before it is forgotten."""

    def describe(self) -> Pending:
        self.deliver("1", "late")
        return super().describe()


def test_an_output_that_comes_at_the_last_moment_is_delivered() -> None:
    """Between the time-out and the forgetting the output arrives: it is taken, and not lost."""
    rt = NativeRuntime()
    executor, _ = executor_without_worker(rt, _LateTable(rt=rt))
    output = executor.mint(1).output
    assert executor.result(output, executor.wait(output)) == "late"


def test_shutdown_without_a_start_fails_what_waits_and_what_comes() -> None:
    """The pump never ran, and all the same nothing stays pending."""
    rt = NativeRuntime()
    executor, _ = executor_without_worker(rt, OutputTable(rt=rt))
    first, second = executor.mint(2).outputs
    future: Future[Any] = executor.wait(first)
    executor.shutdown()
    with pytest.raises(ShutdownError):
        future.result(0)
    with pytest.raises(ShutdownError):
        executor.wait(second)


def test_a_worker_that_ends_unasked_is_no_shutdown() -> None:
    """Pending work fails with what happened, and a shutdown afterwards is told apart from it."""
    rt = NativeRuntime()
    executor, results = executor_without_worker(rt, OutputTable(rt=rt))
    worker = results.writer()
    executor.start()
    future: Future[Any] = executor.wait(executor.mint(1).output)
    worker.close()
    with pytest.raises(PeerClosed, match="ended without being asked to"):
        future.result(10)
    assert executor.shutdown()


def test_two_dispatchers_share_the_request_lane_in_turns() -> None:
    """In every order both calls are answered: the lane has one writer at a time."""

    def scenario(rt: ControlledRuntime) -> str:
        lane = Lane.create(rt=rt, buffer=memoryview(bytearray(lane_bytes(1024))), name="requests")
        bell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        requests: PortReceiver[Command] = PortReceiver(Port(rt=rt, lanes=[LaneReader(lane)], doorbell=bell), Command)
        results: QueueLink[Reply] = QueueLink(rt=rt)
        worker = results.writer()
        executor = Executor(
            rt=rt,
            link=TaskLink(LaneSender(LaneWriter(lane, doorbell=bell), timeout=1.0), results, join=lambda: None),
            table=OutputTable(rt=rt),
            config=ServingConfig(rpc_timeout_s=1.0, shutdown_timeout_s=1.0, poll_s=10.0),
        )
        executor.start()
        tasks = [rt.spawn(executor.execute, [Request(name)], name=f"dispatcher {name}") for name in "ab"]
        with rt.region("Worker.Serve"):
            for _ in tasks:
                job = requests.receive(timeout=10.0).message
                assert isinstance(job, Execute)
                worker.send(ComputeDone(job.rpc, job.wave, 0, execution_s=0.0))
        for task in tasks:
            task.join()
        worker.close()
        return str(executor.shutdown())

    report = explore(scenario, transparent=("Dispatcher.Send",), strategy="random", runs=300)
    assert report.failure is None
    assert (report.verdict, report.outcomes) == (Verdict.BOUNDED, ("'True'",))
