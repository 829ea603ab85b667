"""The account of a soak as metrics of Prometheus; needs the extra `prometheus`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from omni_ipc.accounts import FINDINGS, KINDS, Account, Sample
from omni_ipc.histograms import Histogram, upper_edge_us
from omni_ipc.serving.results import Outcome
from omni_ipc.stress.book import LOST
from omni_ipc.stress.settings import FAULTS

PREFIX = "omni_ipc_soak"
_OUTCOMES = (*(outcome.value for outcome in Outcome), LOST)
_EDGES_US = tuple(1 << power for power in range(10, 28))  # from a millisecond to two minutes

Family = TypeVar("Family", CounterMetricFamily, GaugeMetricFamily)


class SoakCollector:
    """Gives the account that was shown last, whenever Prometheus asks; nothing before the first one."""

    def __init__(self) -> None:
        self._account: Account | None = None  # replaced whole, so that who reads it has one of one moment

    def show(self, account: Account) -> None:
        """Have this account read from now on."""
        self._account = account

    def collect(self) -> Iterator[Metric]:
        """Give all metrics, as they are now."""
        if (account := self._account) is None:
            return
        faults = Counter(each.fault for each in account.faults)
        findings = Counter(each.kind for each in account.findings)
        yield CounterMetricFamily(f"{PREFIX}_requests", "Requests that went in.", account.requests)
        yield CounterMetricFamily(f"{PREFIX}_checked_bytes", "Bytes of outputs, checked.", account.checked_bytes)
        yield _each(
            CounterMetricFamily,
            "outcomes",
            "Requests that ended, by outcome.",
            "outcome",
            _from_0(_OUTCOMES, account.outcomes),
        )
        yield _each(CounterMetricFamily, "faults", "Faults that were put in.", "fault", _from_0(FAULTS, faults))
        yield _each(CounterMetricFamily, "findings", "What must not be.", "kind", _from_0(FINDINGS, findings))
        yield _latencies({kind: Histogram() for kind in KINDS} | account.latencies)
        yield _regions(account.regions)
        yield GaugeMetricFamily(f"{PREFIX}_running_seconds", "Since the soak began.", account.seconds)
        if account.samples:
            yield from _looked(account.samples[-1])


def _looked(sample: Sample) -> Iterator[Metric]:
    yield GaugeMetricFamily(f"{PREFIX}_requests_open", "Requests that have not ended.", sample.open)
    yield GaugeMetricFamily(f"{PREFIX}_slots_in_use", "Slots for outputs that are in use.", sample.slots)
    yield GaugeMetricFamily(f"{PREFIX}_shared_bytes", "Shared memory of all processes.", sample.shared)
    yield _each(GaugeMetricFamily, "resident_bytes", "Memory, shared included.", "process", sample.resident)
    yield _each(GaugeMetricFamily, "device_bytes", "Memory of the device that is kept.", "process", sample.device)
    yield _each(GaugeMetricFamily, "descriptors", "Open descriptors.", "process", sample.descriptors)


def _each(family: type[Family], name: str, what: str, label: str, values: Mapping[str, int]) -> Family:
    metric = family(f"{PREFIX}_{name}", what, labels=[label])
    for of, value in values.items():
        metric.add_metric([of], value)
    return metric


def _from_0(known: Iterable[str], counts: Mapping[str, int]) -> dict[str, int]:
    """Give all that may be counted from the start: what begins with the first one has never grown for an alert."""
    return dict.fromkeys(known, 0) | dict(counts)


def _latencies(values: Mapping[str, Histogram]) -> HistogramMetricFamily:
    """Give each kind in the same buckets at any time, so that they may be added up, and compared with those before."""
    what = "From submit to the result of a request whose client waited for it."
    metric = HistogramMetricFamily(f"{PREFIX}_latency_seconds", what, labels=["kind"])
    for kind, histogram in values.items():
        edges = [(str(edge_us / 1e6), _within(histogram, edge_us)) for edge_us in _EDGES_US]
        metric.add_metric([kind], [*edges, ("+Inf", histogram.many)], histogram.total_s)
    return metric


def _regions(values: Mapping[str, Histogram]) -> SummaryMetricFamily:
    """Give how often each region was passed, and how long that took together; its histogram is in the account."""
    metric = SummaryMetricFamily(f"{PREFIX}_region_seconds", "Time in a region.", labels=["process", "region"])
    for name, histogram in values.items():
        *process, region = name.split(" ")  # "shard 0: engine Pump.Deliver"
        metric.add_metric([" ".join(process), region], histogram.many, histogram.total_s)
    return metric


def _within(histogram: Histogram, edge_us: int) -> int:
    return sum(count for place, count in histogram.counts.items() if upper_edge_us(place) <= edge_us)
