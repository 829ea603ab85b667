"""The account of a soak as metrics of Prometheus; needs the extra `prometheus`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from omni_ipc.accounts import Account, Histogram, Sample

PREFIX = "omni_ipc_soak"

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
        faults, findings = (
            Counter(each.fault for each in account.faults),
            Counter(each.kind for each in account.findings),
        )
        yield CounterMetricFamily(f"{PREFIX}_requests", "Requests that went in.", account.requests)
        yield CounterMetricFamily(f"{PREFIX}_checked_bytes", "Bytes of outputs, checked.", account.checked_bytes)
        yield _each(CounterMetricFamily, "outcomes", "Requests that ended, by outcome.", "outcome", account.outcomes)
        yield _each(CounterMetricFamily, "faults", "Faults that were put in.", "fault", faults)
        yield _each(CounterMetricFamily, "findings", "What must not be.", "kind", findings)
        yield _times("latency_seconds", "From submit to the end of a request.", "kind", account.latencies)
        yield _times("region_seconds", "Time in a region, by process.", "region", account.regions)
        yield GaugeMetricFamily(f"{PREFIX}_running_seconds", "Since the soak began.", account.seconds)
        if account.samples:
            yield from _looked(account.samples[-1])


def _looked(sample: Sample) -> Iterator[Metric]:
    yield GaugeMetricFamily(f"{PREFIX}_requests_open", "Requests that have not ended.", sample.open)
    yield GaugeMetricFamily(f"{PREFIX}_slots_in_use", "Slots for outputs that are in use.", sample.slots)
    yield GaugeMetricFamily(f"{PREFIX}_shared_bytes", "Shared memory of all processes.", sample.shared)
    yield _each(GaugeMetricFamily, "resident_bytes", "Memory, shared included.", "process", sample.resident)
    yield _each(GaugeMetricFamily, "descriptors", "Open descriptors.", "process", sample.descriptors)


def _each(family: type[Family], name: str, what: str, label: str, values: Mapping[str, int]) -> Family:
    metric = family(f"{PREFIX}_{name}", what, labels=[label])
    for of, value in values.items():
        metric.add_metric([of], value)
    return metric


def _times(name: str, what: str, label: str, values: Mapping[str, Histogram]) -> HistogramMetricFamily:
    metric = HistogramMetricFamily(f"{PREFIX}_{name}", what, labels=[label])
    for of, histogram in values.items():
        metric.add_metric([of], list(_buckets(histogram.counts)), histogram.total_s)
    return metric


def _buckets(counts: Iterable[int]) -> Iterator[tuple[str, float]]:
    """Give how many took at most the upper edge of each bin, and how many there are."""
    so_far = 0
    for place, count in enumerate(counts):
        so_far += count
        yield str(2.0**place / 1e6), so_far
    yield "+Inf", so_far
