"""Devices by name, and the host as one."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys

import numpy as np
import pytest

from omni_ipc.device import api
from omni_ipc.device.api import open_device
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import EnvironmentMissing, UnknownName
from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from tests.support.lanes import ROOT
from tests.support.simulated_torch import SimulatedTorch, devices_over


def test_the_host_passes_its_arrays_through() -> None:
    """What is in host memory is not copied."""
    device: api.Device = open_device("cpu")
    tree = [{"a": np.zeros(2)}, 3]
    event = device.record()
    assert device.to_host(tree, after=event) is tree
    assert event.query()
    device.synchronize()
    assert device.name == "cpu"


def test_the_host_needs_no_torch() -> None:
    """A worker on the host starts without it."""
    code = (
        "import sys; from omni_ipc.device.api import open_device; open_device('cpu'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_output_path_knows_devices_by_their_contract_alone() -> None:
    """What is CUDA's or XPU's is known in `omni_ipc/device`: serving names no kind of device, and needs no torch."""
    for path in sorted((ROOT / "omni_ipc/serving").glob("*.py")):
        imported = {
            name
            for node in ast.walk(ast.parse(path.read_text()))
            for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
            + ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
        }
        of_devices = {name for name in imported if name.partition(".")[0] == "torch" or "omni_ipc.device" in name}
        assert of_devices <= {"omni_ipc.device.api"}, path.name


@pytest.mark.parametrize("name", ["cudda", "gpu", "cuda:", "cuda:x", "cuda:-1", "", "cpu:0", "xpu:"])
def test_an_unknown_device_is_refused_with_the_names_that_there_are(name: str) -> None:
    """A typing error does not become a device."""
    with pytest.raises(UnknownName, match=f"There is no device '{name}'"):
        open_device(name)


def test_a_device_that_is_not_here_is_told_with_what_is() -> None:
    """The sentence says how many torch sees, and what to do."""
    pytest.importorskip("torch")
    for kind in ("cuda", "xpu"):
        told = rf"Device '{kind}:99' is not here: .* sees \d+ {kind.upper()} devices\. Use --device cpu"
        with pytest.raises(EnvironmentMissing, match=told):
            open_device(f"{kind}:99")


def test_who_leaves_a_device_to_others_does_not_open_it() -> None:
    """It asks how many there are, and no more: whatever it opened there would stay."""
    for kind in ("cuda", "xpu"):
        torch = SimulatedTorch(kind)
        with devices_over(torch):
            api.require_device(f"{kind}:0")
            with pytest.raises(AttributeError, match="world"):  # of a run that has not begun
                open_device(f"{kind}:0")
            with pytest.raises(EnvironmentMissing, match=f"Device '{kind}:1' is not here"):
                api.require_device(f"{kind}:1")


def test_a_device_is_the_current_one_of_whoever_adopts_it() -> None:
    """Torch is told once, by the thread that it is for; the host has nobody to tell."""
    torch = SimulatedTorch()
    with devices_over(torch):
        report = explore(functools.partial(_adopt, torch), declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("['cuda:0']",))
    HostDevice().adopt()


def _adopt(torch: SimulatedTorch, rt: ControlledRuntime) -> list[str]:
    torch.begin(rt)
    torch.adopted.clear()
    open_device("cuda").adopt()
    return [*torch.adopted]


def test_cuda_without_torch_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedy is a command."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "omni_ipc.device.accelerator", raising=False)
    for refuses in (open_device, api.require_device):
        with pytest.raises(EnvironmentMissing, match=r"needs torch, .* pip install 'omni-ipc\[torch\]'"):
            refuses("cuda")


def test_a_host_event_is_reached_at_once() -> None:
    """There is nothing to wait for."""
    event = HostDevice().record()
    event.synchronize()
    assert event.query()
