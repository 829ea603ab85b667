"""The worker's output path over a simulated device, whose copies come as late as they can."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from omni_ipc.device.api import DeviceEvent
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import PeerClosed, UsageError
from omni_ipc.records import FailureKind, Verdict
from omni_ipc.scenarios.links import QueueLink, QueueWriter
from omni_ipc.serving.announcer import Computed
from omni_ipc.serving.links import Delivery
from omni_ipc.serving.messages import Command, ComputeDone, Execute, OutputReady, Reply, Stop
from omni_ipc.serving.requests import Request
from omni_ipc.serving.worker import Worker
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.testbed.devices import POISON, Block, HostTensor, SimulatedDevice, SimulatedTensor
from tests.testbed.kernels import found


class Doubling:
    """A pipeline of two kernels: the second one computes with the output of the first."""

    def __init__(self, device: SimulatedDevice) -> None:
        self._device = device

    def forward(self, batch: Sequence[Request]) -> list[SimulatedTensor]:
        device = self._device
        return [
            device.compute(lambda text: text * 2, device.compute(functools.partial(str, each.id))) for each in batch
        ]


class Packing(QueueWriter[Reply]):
    """A writing end that puts the bytes of a tensor into the message, as every real one does."""

    def send(self, message: Reply, payload: Any = None) -> None:
        super().send(message, payload.read() if isinstance(payload, HostTensor) else payload)


class RecordsBeforeForward(Worker):
    """Marks the work that was issued before the one whose outputs it announces."""

    def _compute(self, job: Execute, delivery: Delivery[Command]) -> tuple[Computed, ComputeDone]:
        early = self._device.record()
        computed, done = super()._compute(job, delivery)
        return computed._replace(event=early), done


class RecordsOnAnotherStream(Worker):
    """Marks the work on the stream of the copies, which nothing was computed on."""

    def _compute(self, job: Execute, delivery: Delivery[Command]) -> tuple[Computed, ComputeDone]:
        device: Any = self._device
        computed, done = super()._compute(job, delivery)
        with device.on(device.stream("other")):
            return computed._replace(event=device.record()), done


class CopiesAtOnce(SimulatedDevice):
    """Does not let the copies wait for the computation."""

    def hold_back(self, after: DeviceEvent) -> None:
        return


class ReturnsAtOnce(SimulatedDevice):
    """Does not wait for the copies."""

    def await_copies(self) -> None:
        return


def scenario(
    worker: type[Worker] = Worker, device: type[SimulatedDevice] = SimulatedDevice
) -> Callable[[ControlledRuntime], list[object]]:
    """Make the world: a worker over queues, which is given one request and told to stop."""

    def run(rt: ControlledRuntime) -> list[object]:
        simulated = device(rt)
        requests: QueueLink[Command] = QueueLink(rt=rt)
        replies: QueueLink[Reply] = QueueLink(rt=rt)
        outputs: QueueLink[Reply] = QueueLink(rt=rt)
        outputs.writer()
        to_worker = requests.writer()
        serving = worker(
            rt=rt,
            requests=requests,
            replies=replies.writer(),
            outputs=Packing(outputs._queue, outputs.in_flight),
            pipeline=Doubling(simulated),
            device=simulated,
        )
        rt.spawn(serving.run, name="worker.main")
        to_worker.send(Execute(1, 1, "1", (Request("x"),), split=False))
        to_worker.send(Stop())
        received: list[object] = []
        while True:
            try:
                packet = outputs.receive(timeout=1e6)
            except PeerClosed:
                break
            assert isinstance(packet.message, OutputReady), packet.message
            received.append(packet.unpack())
        assert received == ["xx"]
        return received

    return run


def test_the_worker_s_outputs_are_whole_however_late_its_copies_are() -> None:
    """Event, side stream and the wait for it let no schedule show what was not computed yet."""
    report = explore(scenario(), declared=True)
    assert report.verdict is Verdict.HOLDS, report.reason
    assert report.outcomes == ("['xx']",)


@pytest.mark.parametrize("worker", [RecordsBeforeForward, RecordsOnAnotherStream])
def test_an_event_that_marks_the_wrong_work_shows_as_wrong_bytes(worker: type[Worker]) -> None:
    """The copy overtakes the computation in some schedule; on the host device nobody would notice."""
    failure = found(scenario(worker), declared=True).failure
    assert failure is not None
    assert failure.kind is FailureKind.EXCEPTION
    assert repr(POISON) in str(failure) or repr(POISON) in "".join(failure.details) or "AssertionError" in str(failure)


@pytest.mark.parametrize("device", [CopiesAtOnce, ReturnsAtOnce])
def test_a_missing_wait_of_the_device_shows_as_wrong_bytes(device: type[SimulatedDevice]) -> None:
    """Neither the wait of the side stream for the event nor that of the host for the copies can be left out."""
    failure = found(scenario(device=device), declared=True).failure
    assert failure is not None
    assert failure.kind is FailureKind.EXCEPTION


def test_memory_that_is_given_back_while_it_is_copied_is_poisoned() -> None:
    """Who drops a tensor as soon as the copy is issued may find poison in the copy."""

    def scenario(rt: ControlledRuntime) -> object:
        device = SimulatedDevice(rt)
        tensor = device.compute(lambda: "output")
        device.default.record().synchronize()
        host = Block(device.kernel)
        other = device.stream("other")
        with device.on(other):
            device.copy(tensor.block, host)
        del tensor
        other.record().synchronize()
        return host.load()

    report = explore(scenario, declared=True)
    assert set(report.outcomes) == {"'output'", repr(POISON)}


def test_streams_are_ordered_by_their_events_alone() -> None:
    """Two streams go on in any order, and a wait for an event puts them into one."""

    def scenario(rt: ControlledRuntime, ordered: bool) -> object:
        device = SimulatedDevice(rt)
        shared = Block(device.kernel)
        first, second = device.stream("first"), device.stream("second")
        first.issue("write 1", lambda: shared.put(1))
        if ordered:
            second.wait_for(first.record())
        second.issue("write 2", lambda: shared.put(2))
        for stream in (first, second):
            stream.record().synchronize()
        return shared.load()

    assert set(explore(lambda rt: scenario(rt, False), declared=True).outcomes) == {"1", "2"}
    assert set(explore(lambda rt: scenario(rt, True), declared=True).outcomes) == {"2"}


def test_an_event_tells_whether_it_was_reached_and_what_is_passed_through() -> None:
    """A query never waits; what is no tensor of the device comes back as it is; a host event is refused."""

    def scenario(rt: ControlledRuntime) -> object:
        device = SimulatedDevice(rt)
        tensor = device.compute(lambda: 1)
        event = device.record()
        asked = event.query()
        device.synchronize()
        assert event.query()
        host = device.to_host(("text", {"t": tensor}), after=event)
        assert host[0] == "text"
        with pytest.raises(UsageError, match="after= is a HostEvent"):
            device.to_host([], after=HostDevice().record())
        return asked, host[1]["t"].read()

    assert set(explore(scenario, declared=True).outcomes) == {"(False, 1)", "(True, 1)"}
