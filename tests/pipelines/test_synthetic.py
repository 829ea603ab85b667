"""Outputs of chosen size: each is what its request's id says, and costs no more than its sleep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omni_ipc.pipelines.synthetic import Synthetic, expected
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.messages import ComputeDone, OutputReady
from omni_ipc.serving.requests import Request
from tests.support.workers import working


class Clock(NativeRuntime):
    """Notes how long it would have slept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def test_each_request_gets_its_own_bytes_in_the_size_that_it_chose() -> None:
    """What was given once is not written to again, though a larger output comes later."""
    pipeline = Synthetic(rt=Clock(), nbytes=100, tensors=2)
    (first,) = pipeline.forward([Request("a")])
    second, third = pipeline.forward([Request("b"), Request("c", options={"nbytes": 1_000_000})])
    for output, name, nbytes in ((first, "a", 100), (second, "b", 100), (third, "c", 1_000_000)):
        assert output["request"] == name
        assert len(output["tensors"]) == 2
        for tensor in output["tensors"]:
            assert np.array_equal(tensor, expected(name, nbytes))
    assert not np.array_equal(expected("a", 100), expected("b", 100))


def test_a_forward_sleeps_as_long_as_the_slowest_request_asks() -> None:
    """And not at all if nobody does."""
    rt = Clock()
    pipeline = Synthetic(rt=rt, nbytes=1)
    pipeline.forward([Request("a")])
    pipeline.forward([Request("a"), Request("b", options={"forward_s": 0.5}), Request("c", options={"forward_s": 0.2})])
    assert rt.slept == [0.5]


@pytest.mark.parametrize("size", [-1, "much", None, 1.5])
def test_a_size_that_is_none_fails_its_request_alone(size: Any) -> None:
    """The sentence names the request and the value."""
    pipeline = Synthetic(rt=Clock(), nbytes=1)
    failed, fine = pipeline.forward([Request("a", options={"nbytes": size}), Request("b")])
    assert str(failed) == f"Request 'a' asks for nbytes={size!r}. Give a number of bytes."
    assert np.array_equal(fine["tensors"][0], expected("b", 1))


def test_it_runs_in_a_worker() -> None:
    """A batch of two sizes arrives whole."""
    with working(Synthetic(rt=NativeRuntime(), nbytes=5_000)) as bench:
        bench.execute(Request("a"), Request("b", options={"nbytes": 0}))
        assert isinstance(bench.answer(), ComputeDone)
        ready, values = bench.output()
        assert isinstance(ready, OutputReady)
        assert np.array_equal(values[0]["tensors"][0], expected("a", 5_000))
        assert values[1]["tensors"][0].size == 0


@pytest.mark.torch
@pytest.mark.parametrize("device", ["meta", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_elsewhere_it_gives_tensors_of_the_device(device: str) -> None:
    """The pattern lies there, and outputs are views of it."""
    (output,) = Synthetic(rt=Clock(), device=device, nbytes=10).forward([Request("a")])
    assert output["tensors"][0].device.type == device
    assert output["tensors"][0].shape == (10,)
