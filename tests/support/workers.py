"""A worker on threads of this process, over lanes in plain memory; what a test says to it and hears of it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from omni_ipc.device.api import Device
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import PeerClosed, Timeout
from omni_ipc.seam.api import Future
from omni_ipc.serving.messages import Call, Command, Execute, Reply, Stop
from omni_ipc.serving.pipeline import Pipeline
from omni_ipc.serving.requests import Request, detach_inputs
from omni_ipc.serving.worker import Worker
from omni_ipc.transport.channel import LaneSender, PortReceiver
from tests.support.lanes import RT, plain_port

PATIENCE_S = 30.0
"""Far longer than anything takes that a test waits for."""

EPOCH = 4

_RING_BYTES = 1 << 16


class Bench:
    """The engine's ends of a worker.

    Attributes:
        ended: how its main loop has ended.
        failing: what its threads said that they end with, when they did.
    """

    ended: Future[None]

    def __init__(self, pipeline: Pipeline, device: Device, **options: Any) -> None:
        port, (self._writer,) = plain_port("requests", ring_bytes=_RING_BYTES)
        self._to_worker: LaneSender[Command] = LaneSender(self._writer, timeout=PATIENCE_S)
        requests: PortReceiver[Command] = PortReceiver(port, Command)
        replies, self._replies = _link("worker.main")
        outputs, self._outputs = _link("worker.output")
        self._numbers = itertools.count(1)
        self.ended = RT.future()
        self.failing: list[BaseException] = []
        worker = Worker(
            rt=RT,
            requests=requests,
            replies=replies,
            outputs=outputs,
            pipeline=pipeline,
            device=device,
            **options,
        )
        self._task = RT.spawn(self._run, worker, name="worker.main")

    def execute(self, *requests: Request, step: bool = False) -> int:
        """Send a batch, or a single request; returns the number of the call, which is that of the output, too."""
        number = next(self._numbers)
        bare, inputs = detach_inputs(requests)
        self._to_worker.send(Execute(number, EPOCH, str(number), bare, split=len(requests) > 1, step=step), inputs)
        return number

    def call(self, method: str, **arguments: Any) -> Reply:
        """Call a method, and wait for its answer."""
        self._to_worker.send(Call(next(self._numbers), EPOCH, method, arguments))
        return self.answer()

    def answer(self) -> Reply:
        """Wait for the next answer of the main loop."""
        return self.answered()[0]

    def answered(self) -> tuple[Reply, Any]:
        """Do the same, and give what came beside it."""
        return _take(self._replies)

    def output(self) -> tuple[Reply, Any]:
        """Wait for what the output thread says next, and give what came beside it."""
        return _take(self._outputs)

    def stop(self) -> None:
        """Stop the worker, and wait for its end."""
        self._to_worker.send(Stop())
        self._task.join(PATIENCE_S)

    def babble(self) -> None:
        """Send what is no command."""
        self._writer.send(b"hello", timeout=PATIENCE_S)

    def leave(self) -> None:
        """Close the lane to the worker, without a word."""
        self._to_worker.close()

    def rest(self) -> list[Reply]:
        """Take what the main loop says until it closes its lane."""
        return _rest(self._replies)

    def rest_of_outputs(self) -> list[Reply]:
        """Take what the output thread says until it closes its lane."""
        return _rest(self._outputs)

    def has_goodbye(self) -> bool:
        """Tell whether a lane was closed behind what was taken from it."""
        for lane in (self._replies, self._outputs):
            try:
                lane.receive(0)
            except Timeout:
                continue
            except PeerClosed:
                return True
        return False

    def _run(self, worker: Worker) -> None:
        try:
            worker.run(self.failing.append)
        except BaseException as error:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)


@contextlib.contextmanager
def working(pipeline: Pipeline, *, device: Device | None = None, **options: Any) -> Iterator[Bench]:
    """Run a worker for the length of a test; it must end in good order."""
    bench = Bench(pipeline, device or HostDevice(), **options)
    try:
        yield bench
    finally:
        bench.stop()
    bench.ended.result(PATIENCE_S)


def _link(name: str) -> tuple[LaneSender[Reply], PortReceiver[Reply]]:
    port, (writer,) = plain_port(name, ring_bytes=_RING_BYTES)
    return LaneSender(writer, timeout=PATIENCE_S), PortReceiver(port, Reply)


def _take(lane: PortReceiver[Reply]) -> tuple[Reply, Any]:
    delivery = lane.receive(PATIENCE_S)
    return delivery.message, delivery.unpack()


def _rest(lane: PortReceiver[Reply]) -> list[Reply]:
    said = []
    with contextlib.suppress(PeerClosed):
        while True:
            said.append(_take(lane)[0])
    return said
