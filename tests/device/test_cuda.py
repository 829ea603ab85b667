"""Copies off a CUDA device: behind the computation, and ended before anybody looks at them."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from omni_ipc.device.api import open_device
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import UsageError

pytestmark = pytest.mark.cuda


def test_a_copy_waits_for_the_computation_that_it_copies() -> None:
    """The stream that computes is busy for a while; the copy shows its result all the same."""
    import torch

    device = open_device("cuda")
    tensor = torch.zeros(1 << 20, device=device.name)
    torch.cuda._sleep(200_000_000)
    tensor += 1
    host = device.to_host([{"t": tensor, "n": 3}, np.zeros(1)], after=device.record())
    assert host[0]["t"].device.type == "cpu"
    assert bool((host[0]["t"] == 1).all())
    assert (host[0]["n"], host[1].tolist()) == (3, [0])


def test_the_device_s_tensor_may_be_overwritten_after_the_copy() -> None:
    """On return the copy has ended: it shows none of what comes later, in any shape or type."""
    import torch

    device = open_device("cuda:0")
    sent = [
        torch.arange(12, device=device.name).reshape(3, 4).T,
        torch.ones((), dtype=torch.bfloat16, device=device.name),
        torch.empty((2, 0), device=device.name),
    ]
    host = device.to_host(tuple(sent), after=device.record())
    for tensor in sent:
        tensor.zero_()
    device.synchronize()
    assert [tensor.tolist() for tensor in host] == [np.arange(12).reshape(3, 4).T.tolist(), 1.0, [[], []]]


def test_freed_device_memory_is_not_read() -> None:
    """The output may be dropped while it is being copied: many rounds, each with a value of its own."""
    import torch

    device = open_device("cuda")
    for value in range(50):
        host = device.to_host(torch.full((1 << 18,), value, device=device.name), after=device.record())
        gc.collect()
        assert host.unique().tolist() == [value]


def test_an_event_of_another_device_is_refused() -> None:
    """A host event orders nothing on a CUDA stream."""
    with pytest.raises(UsageError, match="after= is a HostEvent"):
        open_device("cuda").to_host([], after=HostDevice().record())
