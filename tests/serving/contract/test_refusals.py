"""What cannot work is refused, with what clashes and what to set; a model that misbehaves fails its own requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omni_ipc.errors import OmniError, PeerFailed, UsageError
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.requests import Request
from tests.serving.contract.engines import DEVICES, is_idle, is_output_of, start
from tests.support.waiting import until


def children() -> set[str]:
    return {pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"workers": 0}, r"workers=0 lets no request through\. Give 1 or more"),
        (
            {"drain_timeout_s": 30, "output_timeout_s": 20},
            r"drain_timeout_s=30 is not below output_timeout_s=20.*Set drain_timeout_s to a smaller value, or output",
        ),
        ({"rpc_timeout_s": float("inf")}, r"rpc_timeout_s=inf is no usable time\. Give a finite number"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(config: dict[str, Any], told: str) -> None:
    """With the values that clash, and what to set."""
    with pytest.raises(UsageError, match=told):
        EngineConfig(**config)


@pytest.mark.parametrize("path", ["no.such.module:Model", "tests.serving.contract.models:NoSuch", "no colon"])
def test_a_pipeline_that_cannot_be_imported_is_refused_before_any_process_starts(path: str) -> None:
    """By the path as it was given."""
    before = children()
    with pytest.raises(UsageError, match=f"'{path}' cannot be imported"):
        Engine(EngineConfig(), path)
    assert children() == before


def test_hosts_of_another_number_of_ranks_are_refused(hosts: HostGroup) -> None:
    """Both numbers are told."""
    with pytest.raises(UsageError, match=r"workers=2, and the hosts have 1 ranks\. Set workers to that, or give Host"):
        start(hosts, workers=2)


def test_a_model_that_cannot_be_built_is_told_with_its_reason(hosts: HostGroup) -> None:
    """And the next engine on the same process works."""
    with pytest.raises(PeerFailed, match="no weights"):
        Engine(EngineConfig(), "tests.serving.pipelines:Unbuildable", hosts=hosts)
    with start(hosts) as engine:
        assert is_output_of("a", engine.generate(Request("a")))


@DEVICES
@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("raise", "RuntimeError: out of memory"),
        ("unfit", r"the output of request '1' is a tests\.serving\.contract\.models\.Evil, which cannot travel"),
        pytest.param(
            "elsewhere",
            r"forward\(\) returned a tensor on meta for request '1', and the worker computes on",
            marks=pytest.mark.torch,
        ),
    ],
)
def test_an_output_that_fails_is_its_own_requests_error_and_the_batch_goes_on(
    hosts: HostGroup, prompt: str, told: str, device: str
) -> None:
    """The others of the batch are delivered, byte for byte."""
    with start(hosts, device=device, max_batch=3) as engine:
        streams = [engine.submit(Request(f"{number}", prompt if number == 1 else "")) for number in range(3)]
        assert is_output_of("0", streams[0].result())
        with pytest.raises(PeerFailed, match=told):
            streams[1].result()
        assert is_output_of("2", streams[2].result())
        del streams
        until(lambda: is_idle(engine))


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("nothing", r"forward\(\) returned nothing"),
        ("few", r"[01] outputs for (one request|a batch of 2 requests)"),
        ("dict", r"forward\(\) returned a dict"),
        ("exit", "SystemExit: 3"),
    ],
)
def test_a_batch_that_fails_as_a_whole_fails_each_of_its_requests_and_no_other(
    hosts: HostGroup, what: str, told: str
) -> None:
    """Whatever the model returned, or did."""
    with Engine(EngineConfig(), PipelineSpec("tests.serving.contract.models:Odd"), hosts=hosts) as engine:
        for stream in [engine.submit(Request(what)) for _ in range(2)]:  # one batch, or two
            with pytest.raises(OmniError, match=told):
                stream.result()
        assert is_output_of("after", engine.generate(Request("after")))
        engine.check_health()


@pytest.fixture(scope="module")
def hosts() -> Iterator[HostGroup]:
    with HostGroup() as hosts:
        yield hosts
