"""The two threads of a worker under the testbed: whichever ends, the other one has done its part, or is told."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from omni_ipc.device.api import DeviceEvent
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import FormatError, InternalError, Timeout
from omni_ipc.scenarios.links import Packet
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.announcer import Failing
from omni_ipc.serving.messages import Execute, OutputReady, Reply, Stop
from omni_ipc.serving.requests import Request
from omni_ipc.serving.worker import Worker
from omni_ipc.testbed import ControlledRuntime
from tests.serving.exhausting import exhaust

POLL_S, COPY_S = 0.5, 2.0


class SlowDevice(HostDevice):
    """Takes its time for a copy, or fails at it as nothing else does."""

    def __init__(self, rt: Runtime, *, broken: bool) -> None:
        self._rt, self._broken = rt, broken

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        self._rt.sleep(COPY_S)
        if self._broken:
            raise SystemExit(3)
        return tree


class Line:
    """One direction between engine and worker."""

    def __init__(self, rt: Runtime, *said: object) -> None:
        self.heard: list[Reply] = []
        self.closed = False
        self._said = rt.queue()
        for each in said:
            self._said.put(each)

    def receive(self, timeout: float) -> Any:
        try:
            said = self._said.get(timeout=timeout)
        except queue.Empty:
            raise Timeout("Nothing came.") from None
        if isinstance(said, BaseException):
            raise said
        return Packet(said, None)

    def send(self, message: Reply, payload: Any = None) -> None:
        self.heard.append(message)

    def close(self) -> None:
        self.closed = True


class Zeros:
    """Renders nothing."""

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        return [np.zeros(2) for _ in batch]


class World:
    """A worker that is to compute one output, and what it is told behind that."""

    def __init__(self, rt: ControlledRuntime, *then: object, broken: bool = False) -> None:
        self.outputs, self.replies = Line(rt), Line(rt)
        self.worker = Worker(
            rt=rt,
            requests=Line(rt, Execute(1, 1, "1-1", (Request("a"),), split=False), *then),
            replies=self.replies,
            outputs=self.outputs,
            pipeline=Zeros(),
            device=SlowDevice(rt, broken=broken),
            poll_s=POLL_S,
        )

    @property
    def announced(self) -> list[str]:
        """The outputs that the engine has heard of."""
        return [said.output for said in self.outputs.heard if isinstance(said, OutputReady)]


def test_a_worker_that_is_told_to_stop_has_announced_what_it_computed() -> None:
    """And said goodbye on both lanes; nothing is told as failed."""

    def scenario(rt: ControlledRuntime) -> None:
        world = World(rt, Stop())
        world.worker.run()
        assert (world.announced, world.outputs.closed, world.replies.closed) == (["1-1"], True, True)

    exhaust(scenario)


def test_a_main_loop_that_fails_has_announced_what_it_computed() -> None:
    """And says goodbye on no lane."""

    def scenario(rt: ControlledRuntime) -> None:
        world = World(rt, FormatError("No command can be read."))
        with pytest.raises(FormatError):
            world.worker.run()
        assert (world.announced, world.outputs.closed, world.replies.closed) == (["1-1"], False, False)

    exhaust(scenario)


def test_a_main_loop_without_work_sees_that_its_output_thread_has_died() -> None:
    """In bounded time: no output would ever be announced again."""

    def scenario(rt: ControlledRuntime) -> None:
        world, told = World(rt, broken=True), list[str]()
        announcer = world.worker._announcer
        run = announcer.run

        def ended(failing: Failing) -> None:
            with contextlib.suppress(SystemExit):  # else it is the run that has failed
                run(failing)

        announcer.run = ended  # type: ignore[method-assign]
        with pytest.raises(InternalError, match="output thread died"):
            world.worker.run(lambda error: told.append(type(error).__name__))
        assert told == ["SystemExit", "InternalError"]
        assert rt.now() <= COPY_S + 2 * POLL_S

    exhaust(scenario)
