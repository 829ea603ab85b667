"""Gates: what is asked of CUDA's driver, and that its streams stop there."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from omni_ipc.errors import EnvironmentMissing
from omni_ipc.seam.native import NativeRuntime

pytestmark = pytest.mark.torch

CONTEXT = 0xC0
NOT_SUPPORTED = 801


class Entry:
    """A function of the driver."""

    def __init__(self, call: Callable[..., int]) -> None:
        self.argtypes: tuple[Any, ...] = ()
        self._call = call

    def __call__(self, *arguments: Any) -> int:
        assert len(arguments) == len(self.argtypes), "called with other arguments than it was declared with"
        return self._call(*arguments)


class FakeDriver:
    """As much of libcuda as gates use; it takes down where streams were to wait.

    Args:
        answer: to a wait.
    """

    def __init__(self, answer: int = 0) -> None:
        self.waits: list[tuple[int, int, int, int]] = []
        self.current: list[int | None] = []

        def wait(*arguments: int) -> int:
            self.waits.append(arguments)  # type: ignore[arg-type]
            return answer

        def name_error(status: int, name: Any) -> int:
            name._obj.value = b"CUDA_ERROR_NOT_SUPPORTED"
            return 0

        self.cuStreamWaitValue32_v2 = Entry(wait)
        self.cuMemHostGetDevicePointer_v2 = Entry(lambda found, address, _: _set(found, address + 1))
        self.cuCtxGetCurrent = Entry(lambda context: _set(context, CONTEXT))
        self.cuCtxSetCurrent = Entry(lambda context: self.current.append(context.value) or 0)
        self.cuGetErrorName = Entry(name_error)


def _set(pointer: Any, value: int) -> int:
    pointer._obj.value = value
    return 0


class FakeStream:
    """``torch.cuda.Stream``."""

    cuda_stream = 0x51


def test_a_hold_waits_for_one_more_than_the_hold_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the word's address on the device, in the context that the driver was found in, for the value or beyond."""
    import torch

    from omni_ipc.stress.devices import gates

    fake = FakeDriver()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: fake)
    zeros = torch.zeros
    monkeypatch.setattr(torch, "zeros", lambda count, *, dtype, pin_memory: zeros(count, dtype=dtype))
    gate = gates.DriverGate(gates.Driver())
    assert [gate.hold(FakeStream()) for _ in range(2)] == [1, 2]
    address = gate._word.data_ptr() + 1
    assert fake.waits == [(0x51, address, 1, 0), (0x51, address, 2, 0)]
    assert fake.current == [CONTEXT, CONTEXT]
    gate.open(1)
    assert int(gate._word[0]) == 1
    gate.open_for_ever()
    gate.open(2)
    assert int(gate._word[0]) > 1 << 29


def test_a_driver_that_cannot_wait_is_told_by_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the call, the name of the error, and what is done instead."""
    from omni_ipc.stress.devices import gates

    monkeypatch.setattr(ctypes, "CDLL", lambda _: FakeDriver(NOT_SUPPORTED))
    with pytest.raises(EnvironmentMissing, match=r"cuStreamWaitValue32 with CUDA_ERROR_NOT_SUPPORTED \(801\)") as told:
        gates.Driver().wait(0x51, 0x1000, 1)
    assert "held back by the host instead" in str(told.value)


@pytest.mark.parametrize("lacks", ["the library", "the function"])
def test_a_driver_without_waits_for_values_is_told(lacks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old one, or none at all."""
    from omni_ipc.stress.devices import gates

    def load(name: str) -> Any:
        if lacks == "the library":
            raise OSError(f"{name}: cannot open shared object file")
        return object()

    monkeypatch.setattr(ctypes, "CDLL", load)
    with pytest.raises(EnvironmentMissing, match=r"CUDA's driver has no cuStreamWaitValue32: .*(libcuda|attribute)"):
        gates.Driver()


@pytest.mark.cuda
def test_a_stream_of_cuda_s_stops_at_a_gate_and_goes_on_behind_it() -> None:
    """What is issued behind the hold waits, and what is on another stream does not."""
    import torch

    from omni_ipc.stress.devices import gates

    torch.zeros(1, device="cuda")  # makes the context
    driver = gates.require_gates(NativeRuntime(), "cuda:0")
    gate = gates.DriverGate(driver)
    held, free = torch.cuda.Stream(), torch.cuda.Stream()
    source = torch.ones(1024, device="cuda")
    with torch.cuda.stream(held):
        target = torch.zeros_like(source)
    torch.cuda.synchronize()
    number = gate.hold(held)
    with torch.cuda.stream(held):
        target.copy_(source)
        copied = torch.cuda.Event()
        copied.record(held)
    with torch.cuda.stream(free):
        passed = torch.cuda.Event()
        passed.record(free)
    passed.synchronize()
    try:
        assert not copied.query()
    finally:
        gate.open(number)
    copied.synchronize()
    assert target.sum().item() == 1024


@pytest.mark.cuda
def test_the_streams_of_cuda_are_held_back_by_the_device_where_it_can() -> None:
    """They are the product's own device then, and nothing stands in for CUDA's events and copies."""
    from omni_ipc.stress.devices import open_streams
    from omni_ipc.stress.devices.held import HeldCuda

    device = open_streams(NativeRuntime(), "cuda")
    assert isinstance(device, HeldCuda)
    device.close()


@pytest.mark.cuda
def test_where_the_driver_cannot_hold_them_tasks_take_the_steps_of_the_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, and the memory is the device's all the same."""
    import torch

    from omni_ipc.stress.devices import gates, open_streams
    from omni_ipc.stress.devices.threaded import ThreadedStreams

    def refuse(*_: object) -> None:
        raise EnvironmentMissing("CUDA's driver has none.", "Nothing is left out.")

    monkeypatch.setattr(gates, "require_gates", refuse)
    with pytest.warns(RuntimeWarning, match=r"CUDA's driver has none\."):
        device = open_streams(NativeRuntime(), "cuda")
    assert isinstance(device, ThreadedStreams)
    output = device.memory.compute(lambda: torch.arange(1024, device="cuda"), 1024)
    assert output.is_cuda
    assert device.to_host(output, after=device.record()).tolist() == list(range(1024))
    del output
    device.close()
