"""Engines with a field defect: they are built of the part that has it, and serve as well as they did in the field."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.scenarios.defects import DEFECTS
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.requests import Request
from omni_ipc.stress.defective import build

IN_LINKS = ("lossy_overflow", "timeout_consumes", "aggregate_overflow")


@pytest.fixture(scope="module")
def hosts() -> Iterator[HostGroup]:
    with HostGroup(1) as group:
        yield group


@pytest.mark.parametrize("defect", [None, *(name for name in DEFECTS if name not in IN_LINKS)])
def test_an_engine_with_a_defect_serves_a_request(defect: str | None, hosts: HostGroup) -> None:
    """A fault of the field shows only when somebody is late: one client alone is served."""
    built = build(defect)
    config = EngineConfig(output_timeout_s=20.0, drain_timeout_s=5.0, shutdown_timeout_s=5.0)
    pipeline = PipelineSpec("omni_ipc.pipelines.synthetic:Synthetic", {"nbytes": 64})
    with built.engine(config, pipeline, hosts=hosts, parts=built.parts) as engine:
        assert engine.generate(Request("1")).request_id == "1"
        assert (type(engine) is Engine) == (defect != "deferred_admission")


@pytest.mark.parametrize("defect", IN_LINKS)
def test_a_defect_of_a_queue_that_is_no_more_is_refused(defect: str) -> None:
    """With the command that shows it."""
    with pytest.raises(UsageError, match=f"omni-ipc explore overflow --defect {defect}"):
        build(defect)


def test_an_unknown_defect_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(UnknownName, match=r"Known: .*late_split_map"):
        build("rain")
