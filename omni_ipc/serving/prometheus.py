"""The statistics of an engine for Prometheus; needs the extra `prometheus`.

prometheus_client.REGISTRY.register(EngineCollector(engine))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from omni_ipc.errors import EnvironmentMissing
from omni_ipc.serving.statistics import Statistics

if TYPE_CHECKING:
    from prometheus_client.core import Metric


class Counting(Protocol):
    """What has statistics: an engine."""

    def statistics(self) -> Statistics: ...


class EngineCollector:
    """Reads the statistics whenever Prometheus asks.

    Args:
        prefix: of the names of the metrics; give each engine of a registry its own.

    Raises:
        EnvironmentMissing: the client library is not installed.
    """

    def __init__(self, engine: Counting, *, prefix: str = "omni_ipc") -> None:
        try:
            from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
        except ImportError:
            raise EnvironmentMissing(
                "Metrics for Prometheus need its client, which is not installed here.",
                "pip install 'omni-ipc[prometheus]'",
            ) from None
        self._counter = CounterMetricFamily
        self._gauge = GaugeMetricFamily
        self._engine = engine
        self._prefix = prefix

    def collect(self) -> Iterator[Metric]:
        """Give all metrics, as they are now."""
        statistics = self._engine.statistics()
        ended = self._counter(
            f"{self._prefix}_requests_ended", "Requests that have ended, by outcome.", labels=["outcome"]
        )
        for outcome, count in statistics.ended.items():
            ended.add_metric([outcome.value], count)
        yield ended
        for name, what, value in _COUNTERS:
            yield self._counter(f"{self._prefix}_{name}", what, value=value(statistics))
        for name, what, value in _GAUGES:
            yield self._gauge(f"{self._prefix}_{name}", what, value=value(statistics))


_Value = Callable[[Statistics], float]

_COUNTERS: tuple[tuple[str, str, _Value], ...] = (
    ("requests_admitted", "Requests that were admitted.", lambda now: now.admitted),
    ("batches", "Forwards, or steps, of a batch.", lambda now: now.batches),
    ("execution_seconds", "Time of the model's execution, over batches.", lambda now: now.execution_s),
    (
        "output_ready_wait_seconds",
        "Time that consumers waited for outputs whose execution was done.",
        lambda now: now.output_ready_wait_s,
    ),
)

_GAUGES: tuple[tuple[str, str, _Value], ...] = (
    ("requests_open", "Admitted requests that have not ended.", lambda now: now.open),
    ("requests_waiting", "Open requests that wait for their turn.", lambda now: now.waiting),
)
