"""A device that answers no more, in the middle of work: its worker tells what has failed, and ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import pytest

from omni_ipc.device.api import DeviceEvent
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import DeviceLost, InternalError
from omni_ipc.serving.messages import CallFailed, ComputeDone, ComputeFailed, OutputFailed
from omni_ipc.serving.requests import Request
from tests.support.workers import PATIENCE_S, Bench

ILLEGAL = "CUDA error: an illegal memory access was encountered"
ONE = Request("a")

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Lost(HostDevice):
    """Is lost by the first copy, or whenever it is told to be."""

    def __init__(self) -> None:
        self.is_lost = False

    def lose(self) -> NoReturn:
        """Be lost, and say so as torch does."""
        self.is_lost = True
        raise RuntimeError(f"{ILLEGAL}\nCUDA kernel errors might be asynchronously reported.")

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        self.lose()

    def require_usable(self) -> None:
        if self.is_lost:
            raise DeviceLost(self.name, ILLEGAL)


class Losing:
    """Loses its device in a forward, in place of an output, or in a call."""

    calls = frozenset({"tune"})

    def __init__(self, device: Lost) -> None:
        self._device = device

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        match batch[0].prompt:
            case "lose":
                self._device.lose()
            case "lose and go on":
                try:
                    self._device.lose()
                except RuntimeError as error:
                    return [error]
            case "fail":
                raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB.")
        return [np.zeros(2)]

    def step(self, batch: Sequence[Request]) -> list[Any]:
        return self.forward(batch)

    def tune(self) -> None:
        """Fail."""
        self._device.lose()


def bench() -> Bench:
    device = Lost()
    return Bench(Losing(device), device, drain_timeout_s=0.05, poll_s=0.01)


@pytest.mark.parametrize(
    ("prompt", "step"),
    [("lose", False), ("lose and go on", False), ("lose", True), ("", True)],
    ids=["forward", "an output's place", "step", "copy of a step"],
)
def test_a_worker_whose_device_is_lost_to_its_main_loop_answers_and_ends(prompt: str, step: bool) -> None:
    """Its caller hears what the model has met, and no further command is taken; no lane is closed in good order."""
    worker = bench()
    worker.execute(Request("a", prompt=prompt), step=step)
    failed = worker.answer()
    assert isinstance(failed, ComputeFailed)
    assert failed.error.message.startswith(ILLEGAL)
    with pytest.raises(DeviceLost, match="cpu answers this process no more: CUDA error: an illegal memory access"):
        worker.ended.result(PATIENCE_S)
    assert [type(error) for error in worker.failing] == [DeviceLost]
    assert not worker.has_goodbye()


def test_a_worker_whose_device_is_lost_to_a_call_answers_and_ends() -> None:
    """As behind a forward."""
    worker = bench()
    assert isinstance(worker.call("tune"), CallFailed)
    with pytest.raises(DeviceLost):
        worker.ended.result(PATIENCE_S)
    assert [type(error) for error in worker.failing] == [DeviceLost]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_worker_whose_device_is_lost_to_a_copy_tells_the_output_and_ends(rank: int) -> None:
    """Both threads end, also where it is told to stop meanwhile: its process must not get another worker."""
    device = Lost()
    worker = Bench(Losing(device), device, rank=rank, drain_timeout_s=PATIENCE_S, poll_s=0.01)
    if rank:
        device.record = lambda: LosingEvent(device)  # type: ignore[method-assign,assignment,return-value]
    worker.execute(ONE)
    worker.stop()
    assert isinstance(worker.answer(), ComputeDone)
    failed, _ = worker.output()
    assert isinstance(failed, OutputFailed)
    assert failed.error.message.startswith(ILLEGAL)
    with pytest.raises(InternalError, match="output thread died of DeviceLost"):
        worker.ended.result(PATIENCE_S)
    assert isinstance(worker.failing[0], DeviceLost)
    assert not worker.has_goodbye()


class LosingEvent:
    """Is what the device is lost by."""

    def __init__(self, device: Lost) -> None:
        self._device = device

    def query(self) -> bool:
        self._device.lose()

    def synchronize(self) -> None:
        self._device.lose()


def test_an_error_that_the_device_survives_ends_no_worker() -> None:
    """What found no memory is told, and the next forward is done."""
    worker = bench()
    worker.execute(Request("a", prompt="fail"))
    assert isinstance(worker.answer(), ComputeFailed)
    worker.execute(ONE)
    assert isinstance(worker.answer(), ComputeDone)
    worker.stop()
