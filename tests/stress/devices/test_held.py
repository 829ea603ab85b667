"""CUDA's streams, held back: its lines over a simulated torch whose streams stop at gates, as the driver's would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.testbed.devices import SimulatedEvent
from tests.support.simulated_torch import SimulatedTorch, Stream, devices_over
from tests.testbed.kernels import found

RUNS = 60


class SimulatedGate:
    """A gate that simulated streams stop at.

    Args:
        is_stuck: nobody who opens it gets through.
    """

    def __init__(self, rt: ControlledRuntime, *, is_stuck: bool = False) -> None:
        self._kernel = rt.kernel
        self._is_stuck = is_stuck
        self._holds: list[SimulatedEvent] = []

    def hold(self, stream: Stream) -> int:
        self._holds.append(SimulatedEvent(self._kernel))
        stream.simulated.wait_for(self._holds[-1])
        return len(self._holds)

    def open(self, number: int) -> None:
        if not self._is_stuck:
            self._holds[number - 1].reach()

    def open_for_ever(self) -> None:
        for hold in self._holds:
            hold.reach()


def copy_one(torch: SimulatedTorch, *, too_early: bool = False, is_stuck: bool = False) -> Callable[..., object]:
    """Make a scenario that computes on a held stream, and brings the output to the host."""

    def scenario(rt: ControlledRuntime) -> object:
        from omni_ipc.stress.devices.held import HeldCuda

        torch.begin(rt)
        device = HeldCuda(rt, 0, lambda: SimulatedGate(rt, is_stuck=is_stuck), rt)
        computing: Any = torch.cuda.current_stream("cuda:0")
        event = device.record()
        with device.step(computing, "compute"):
            output = torch.compute(lambda: 42)
        host = device.to_host([output, "text"], after=event if too_early else device.record())
        device.close()
        return [host[0].read(), host[1]]

    return scenario


def test_a_held_stream_ends_what_it_was_given_in_every_order() -> None:
    """Each step that was held is let go once, and the copy shows what was computed."""
    torch = SimulatedTorch()
    with devices_over(torch):
        report = explore(copy_one(torch), runs=RUNS)
    assert (report.failure, report.outcomes) == (None, ("[42, 'text']",))
    assert report.verdict in (Verdict.HOLDS, Verdict.BOUNDED)


def test_an_event_that_was_recorded_too_early_lets_the_copy_overtake_the_computation() -> None:
    """So what is held back is the device, and not its host: some order shows what was in the memory before."""
    torch = SimulatedTorch()
    with devices_over(torch):
        report = explore(copy_one(torch, too_early=True), runs=RUNS)
    assert len(report.outcomes) == 2, report.outcomes


def test_a_gate_that_nobody_opens_is_opened_by_the_deadline() -> None:
    """The device goes on, so nobody hangs with it, and it is told."""
    torch = SimulatedTorch()
    with devices_over(torch):
        failure = found(copy_one(torch, is_stuck=True), runs=RUNS).failure
    assert failure is not None
    assert failure.task in ("device.default.deadline", "device.side.deadline")
    assert "A stream was held back for 30 s, and let go then." in failure.message


@pytest.mark.parametrize("line", ["self._gate.open(number)", "done.synchronize()"])
def test_a_step_lets_the_device_go_on_and_waits_for_it(line: str) -> None:
    """Without the one, nobody but the deadline opens the gate; without the other, the step is over too early."""
    torch = SimulatedTorch()
    with devices_over(torch, without=line):
        report = explore(in_order(torch), runs=RUNS)
    assert report.failure is not None


def test_a_step_is_over_only_once_the_device_has_done_it() -> None:
    """Whoever takes the next step finds the memory as the one before has left it."""
    torch = SimulatedTorch()
    with devices_over(torch):
        report = explore(in_order(torch), runs=RUNS)
    assert report.failure is None


def in_order(torch: SimulatedTorch) -> Callable[..., object]:
    """Make a scenario in which a command is let go, and looked at when its step is over."""

    def scenario(rt: ControlledRuntime) -> None:
        from omni_ipc.stress.devices.held import HeldStream

        torch.begin(rt)
        seen: list[object] = []
        event: Any = torch.cuda.Event(blocking=True)
        stream: Any = torch.cuda.current_stream("cuda:0")
        steps = HeldStream(rt, "device.default", SimulatedGate(rt), rt, lambda: torch.cuda.Event(blocking=True))
        with steps.step(stream, "compute"):
            output = torch.compute(lambda: 42)
        steps._commands.issue("look", lambda: seen.append(output.read())).result()
        steps.close()
        with steps.step(stream, "give"):
            event.record(stream)
        event.synchronize()  # nobody has opened anything
        assert seen == [42]

    return scenario
