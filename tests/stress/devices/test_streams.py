"""Conducted streams, on each kind of device: what is late stays late, and whoever reads then finds what was before."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from omni_ipc.device.host import HostDevice
from omni_ipc.errors import UsageError
from omni_ipc.records import Step
from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.seam.conducted import ConductedRuntime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.requests import Request
from omni_ipc.stress.devices import StreamPipeline, open_streams
from omni_ipc.stress.devices.__main__ import main
from omni_ipc.stress.devices.pipeline import Streams
from omni_ipc.workflows.conductor import Conductor
from omni_ipc.workflows.rest import all_asleep, rest_s_on

KINDS = pytest.mark.parametrize(
    "kind",
    [
        pytest.param("cpu", marks=pytest.mark.torch),
        pytest.param("cuda", marks=pytest.mark.cuda),
        pytest.param("xpu", marks=pytest.mark.xpu),
    ],
)
PATIENCE_S = 30.0
COUNT = 4096

Order = Sequence[tuple[str, str]]
IN_TIME = [
    *(("default", does) for does in ("reach", "compute", "reach")),
    *(("side", does) for does in ("wait", "copy", "reach")),
]
TOO_EARLY = [
    ("default", "reach"),
    *(("side", does) for does in ("wait", "copy", "reach")),
    *(("default", does) for does in ("compute", "reach")),
]


@contextmanager
def opened(kind: str, order: Order) -> Iterator[tuple[Streams, StreamPipeline, Conductor]]:
    """Open a device whose streams take their steps in an order, and a pipeline that computes there."""
    steps = [Step(f"device.{stream}", "Stream.Step", {"does": does}) for stream, does in order]
    at_rest = functools.partial(all_asleep, (os.getpid(),))
    with Conductor(steps, patience_s=PATIENCE_S, at_rest=at_rest, rest_s=rest_s_on(kind)) as conductor:
        rt = ConductedRuntime(conductor.connect(), {(step.task, step.action) for step in steps})
        device = open_streams(rt, kind)
        try:
            yield device, StreamPipeline(rt, device, COUNT), conductor
            device.close()  # its streams come to all that they were given
        finally:
            rt.close()
            device.close()
    assert rt.errors == []


def bring(device: Streams, pipeline: StreamPipeline, *, too_early: bool = False) -> object:
    """Compute the output of "r", and bring it to the host behind the event before it, or the one behind it."""
    before = device.record()
    (output,) = pipeline.forward([Request("r")])
    behind = device.record()
    return device.to_host([output], after=before if too_early else behind)[0]


@KINDS
def test_a_copy_behind_the_computation_is_whole(kind: str) -> None:
    """Each stream takes its steps in the order that the conductor has."""
    with opened(kind, IN_TIME) as (device, pipeline, conductor):
        assert is_output_of("r", bring(device, pipeline))
        assert conductor.outcome().refusal is None
    assert conductor.outcome().whole


@KINDS
def test_a_copy_that_overtakes_the_computation_brings_what_was_in_the_memory_before(kind: str) -> None:
    """It waits for an event of too early, the device is as late as it may be, and every byte is wrong."""
    with opened(kind, TOO_EARLY) as (device, pipeline, conductor):
        assert not is_output_of("r", bring(device, pipeline, too_early=True))
    assert conductor.outcome().whole, conductor.outcome().refusal


@KINDS
def test_a_copy_does_not_start_before_the_event_that_it_waits_for(kind: str) -> None:
    """The order that the fault needs cannot be followed without it: the side stream does not stand before its step."""
    with opened(kind, TOO_EARLY) as (device, pipeline, conductor):
        assert is_output_of("r", bring(device, pipeline))
        refusal = conductor.outcome().refusal
    assert refusal is not None
    assert "step 2 of 6, device.side: Stream.Step(does=wait), did not come" in refusal


@KINDS
def test_memory_that_was_given_back_holds_nonsense(kind: str) -> None:
    """A sleep that does not wait spoils what is still to be copied, as the next owner of the memory would."""
    rt = NativeRuntime()
    device = open_streams(rt, kind)
    pipeline = StreamPipeline(rt, device, COUNT)
    (output,) = pipeline.forward([Request("r")])
    event = device.record()
    assert is_output_of("r", device.to_host(output, after=event))
    pipeline.sleep(1)
    pipeline.wake()
    assert not is_output_of("r", device.to_host(output, after=event))
    device.close()


@KINDS
@pytest.mark.parametrize("use", [lambda device: device.to_host([], after=HostDevice().record())], ids=["to_host"])
def test_an_event_of_another_device_is_refused_by_streams(kind: str, use: Callable[[Streams], object]) -> None:
    """A host event orders nothing on a stream."""
    device = open_streams(NativeRuntime(), kind)
    with pytest.raises(UsageError, match="after= is a HostEvent"):
        use(device)
    device.close()


@KINDS
def test_a_device_tells_who_holds_its_streams_back(kind: str) -> None:
    """In a line, with its name and model: the device itself, or tasks in its place, and then why."""
    told = main(kind)
    assert told.startswith(("cpu: ", f"{kind}:0: "))
    assert "; its streams are held back by the device" in told or "; its streams are held back by tasks" in told
