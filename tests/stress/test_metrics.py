"""The metrics of a soak: what its account says, over HTTP, for as long as it runs."""

from __future__ import annotations

import socket
import sys
import urllib.error
import urllib.request

import msgspec
import pytest

from omni_ipc.accounts import FINDINGS
from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.histograms import Histogram, bin_of
from omni_ipc.stress.metrics import serving_metrics
from tests.support.accounts import LOST, PLAIN, account


def fetch(address: str) -> list[str]:
    """Read the page as Prometheus does."""
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read().decode().splitlines()


def test_metrics_are_the_account_that_was_shown_last() -> None:
    """Requests, outcomes, faults, findings, times, processes: as they are when they are asked for."""
    pytest.importorskip("prometheus_client", reason="pip install 'omni-ipc[prometheus]'")
    latencies = {"video": Histogram({3: 1, bin_of(2**11): 4}, 3e-6)}
    looks = (msgspec.structs.replace(PLAIN.samples[-1], device={"worker 0": 7}),)
    with serving_metrics("0") as metrics:
        assert fetch(metrics.address) == []
        metrics.show(account(requests=1))
        assert "omni_ipc_soak_requests_total 1.0" in fetch(metrics.address)
        metrics.show(account(requests=111, findings=(LOST,), latencies=latencies, samples=looks))
        told = fetch(metrics.address)
    for line in (
        "omni_ipc_soak_requests_total 111.0",
        'omni_ipc_soak_outcomes_total{outcome="aborted"} 10.0',
        "omni_ipc_soak_checked_bytes_total 5.36870912e+09",
        'omni_ipc_soak_faults_total{fault="kill"} 1.0',
        'omni_ipc_soak_findings_total{kind="outcome"} 1.0',
        'omni_ipc_soak_latency_seconds_bucket{kind="video",le="0.002048"} 1.0',
        'omni_ipc_soak_latency_seconds_bucket{kind="video",le="0.004096"} 5.0',
        'omni_ipc_soak_latency_seconds_bucket{kind="video",le="+Inf"} 5.0',
        'omni_ipc_soak_latency_seconds_sum{kind="video"} 3e-06',
        'omni_ipc_soak_region_seconds_count{process="engine",region="Pump.Deliver"} 90.0',
        "omni_ipc_soak_running_seconds 60.5",
        "omni_ipc_soak_requests_open 3.0",
        'omni_ipc_soak_resident_bytes{process="worker 0"} 5.24288e+07',
        'omni_ipc_soak_device_bytes{process="worker 0"} 7.0',
        'omni_ipc_soak_descriptors{process="engine"} 20.0',
    ):
        assert line in told, line
    with pytest.raises(urllib.error.URLError):
        fetch(metrics.address)


def test_what_may_be_counted_is_there_from_the_start() -> None:
    """An alert on `increase()` sees the first finding only if there was a sample before it; buckets stay the same."""
    pytest.importorskip("prometheus_client", reason="pip install 'omni-ipc[prometheus]'")
    with serving_metrics("0") as metrics:
        metrics.show(account(requests=0, outcomes={}, faults=(), latencies={}, regions={}, samples=()))
        before = fetch(metrics.address)
        metrics.show(account(findings=(LOST,)))
        after = fetch(metrics.address)
    for kind in FINDINGS:
        assert f'omni_ipc_soak_findings_total{{kind="{kind}"}} 0.0' in before
    for line in ('faults_total{fault="hog"} 0.0', 'outcomes_total{outcome="lost with the engine"} 0.0'):
        assert f"omni_ipc_soak_{line}" in before
    names = {line.rpartition(" ")[0] for line in before if not line.startswith("#")}
    assert names <= {line.rpartition(" ")[0] for line in after}


def test_a_soak_that_nobody_looked_at_has_metrics() -> None:
    """Without those of its processes."""
    pytest.importorskip("prometheus_client", reason="pip install 'omni-ipc[prometheus]'")
    with serving_metrics("127.0.0.1:0") as metrics:
        metrics.show(account(samples=()))
        assert not [line for line in fetch(metrics.address) if "resident" in line]


def test_a_port_that_somebody_has_is_told_at_once() -> None:
    """Before the soak, with what to do."""
    pytest.importorskip("prometheus_client", reason="pip install 'omni-ipc[prometheus]'")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port}: Address already in use. Choose another port"):
            with serving_metrics(str(port)):
                pass


@pytest.mark.parametrize("where", ["", "somewhere", "9464/metrics", "99999", "-1", "::", "²", "no.such.host.invalid:1"])
def test_what_is_no_address_is_told(where: str) -> None:
    """With what one looks like, or why it cannot be had."""
    pytest.importorskip("prometheus_client", reason="pip install 'omni-ipc[prometheus]'")
    with pytest.raises(UsageError, match=r"no place for metrics|cannot be served at"):
        with serving_metrics(where):
            pass


def test_without_the_client_the_command_that_brings_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and not at the first account."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'omni-ipc\[prometheus\]'"):
        with serving_metrics("0"):
            pass
