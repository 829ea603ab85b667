"""The CUDA device's own lines over a simulated CUDA: which of its waits are needed, shown without a GPU."""

from __future__ import annotations

from types import ModuleType

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from tests.support.simulated_torch import SimulatedTorch, cuda_over
from tests.testbed.kernels import found

WAITS = ("after.hold_back(self._side)", "CudaEvent(self._side).synchronize()", "stream.wait_event(self._event)")


def copy_one(torch: SimulatedTorch, cuda: ModuleType):  # type: ignore[no-untyped-def]
    """Make a scenario that computes on one stream, and brings the output to the host; then the output is dropped."""

    def scenario(rt: ControlledRuntime) -> object:
        torch.begin(rt)
        device = cuda.CudaDevice()
        output = torch.compute(lambda: 42)
        host = device.to_host([output, "text"], after=device.record())
        del output
        assert [host[0].read(), host[1]] == [42, "text"]
        return host[0].read()

    return scenario


def test_a_copy_shows_what_was_computed_in_every_order_of_the_streams() -> None:
    """Neither the computation nor the copy can be overtaken, and memory that was given back is not read."""
    torch = SimulatedTorch()
    with cuda_over(torch) as cuda:
        report = explore(copy_one(torch, cuda), declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("42",))


@pytest.mark.parametrize("wait", WAITS)
def test_each_wait_of_the_device_is_needed(wait: str) -> None:
    """Without it, some schedule shows wrong bytes: found, shrunk and replayed."""
    torch = SimulatedTorch()
    with cuda_over(torch, without=wait) as cuda:
        failure = found(copy_one(torch, cuda), declared=True).failure
    assert failure is not None
    assert "AssertionError" in failure.message


def test_the_simulated_torch_is_gone_afterwards() -> None:
    """The real one, if there is one, is what it was."""
    import sys

    before = sys.modules.get("torch")
    with cuda_over(SimulatedTorch()):
        assert isinstance(sys.modules["torch"], SimulatedTorch)
    assert sys.modules.get("torch") is before
