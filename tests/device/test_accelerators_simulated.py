"""The lines of torch's devices over a simulated torch: which of their waits are needed, shown without a GPU."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from omni_ipc.device.api import open_device
from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from tests.support.simulated_torch import SimulatedTorch, devices_over
from tests.testbed.kernels import found

WAITS = ("after.hold_back(self._side)", "self._mark(self._side).synchronize()", "stream.wait_event(self._event)")


@dataclasses.dataclass
class Output:
    """What a pipeline may return."""

    image: object


def copy_one(torch: SimulatedTorch):  # type: ignore[no-untyped-def]
    """Make a scenario that computes on one stream, and brings the output to the host; then the output is dropped."""

    def scenario(rt: ControlledRuntime) -> object:
        torch.begin(rt)
        device = open_device(torch.kind)
        output = torch.compute(lambda: 42)
        host = device.to_host([Output(output), "text"], after=device.record())
        del output
        assert [host[0]["image"].read(), host[1]] == [42, "text"]
        return host[0]["image"].read()

    return scenario


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_a_copy_shows_what_was_computed_in_every_order_of_the_streams(kind: str) -> None:
    """Neither the computation nor the copy can be overtaken, and memory that was given back is not read."""
    torch = SimulatedTorch(kind)
    with devices_over(torch):
        report = explore(copy_one(torch), declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("42",))


@pytest.mark.parametrize("wait", WAITS)
def test_each_wait_of_the_devices_is_needed(wait: str) -> None:
    """Without it, some schedule shows wrong bytes: found, shrunk and replayed."""
    torch = SimulatedTorch()
    with devices_over(torch, without=wait):
        failure = found(copy_one(torch), declared=True).failure
    assert failure is not None
    assert "AssertionError" in failure.message


def test_the_simulated_torch_is_gone_afterwards() -> None:
    """The real one, if there is one, is what it was."""
    before = sys.modules.get("torch")
    with devices_over(SimulatedTorch()):
        assert isinstance(sys.modules["torch"], SimulatedTorch)
    assert sys.modules.get("torch") is before
