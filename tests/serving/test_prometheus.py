"""The metrics: what `statistics` counts, under names of Prometheus; the wait has one of its own."""

from __future__ import annotations

import sys

import pytest

from omni_ipc.errors import EnvironmentMissing
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.prometheus import EngineCollector
from omni_ipc.serving.requests import Request
from tests.support.table_executor import EXECUTION_S, TableExecutor, engine_over


def test_metrics_are_the_statistics() -> None:
    """Read anew at each collection; execution and wait are two metrics."""
    client = pytest.importorskip("prometheus_client", reason="pip install 'omni-ipc[prometheus]'")
    executor = TableExecutor(NativeRuntime())
    with engine_over(NativeRuntime(), executor) as engine:
        registry = client.CollectorRegistry()
        registry.register(EngineCollector(engine))
        assert registry.get_sample_value("omni_ipc_requests_admitted_total") == 0
        engine.generate(Request("a"))
        engine.submit(Request("b")).close()
        read = registry.get_sample_value
        assert read("omni_ipc_requests_admitted_total") == 2
        assert read("omni_ipc_requests_ended_total", {"outcome": "result"}) == 1
        assert read("omni_ipc_requests_ended_total", {"outcome": "aborted"}) == 1
        assert read("omni_ipc_requests_open") == read("omni_ipc_requests_waiting") == 0
        assert read("omni_ipc_execution_seconds_total") >= EXECUTION_S
        assert read("omni_ipc_output_ready_wait_seconds_total") == engine.statistics().output_ready_wait_s > 0


def test_without_the_client_the_command_that_brings_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the collector is made, and not when Prometheus asks."""
    monkeypatch.setitem(sys.modules, "prometheus_client.core", None)
    rt = NativeRuntime()
    with engine_over(rt, TableExecutor(rt)) as engine:
        with pytest.raises(EnvironmentMissing, match=r"pip install 'omni-ipc\[prometheus\]'"):
            EngineCollector(engine)
