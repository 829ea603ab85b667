"""A soak for Prometheus while it runs; needs the extra `prometheus`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from omni_ipc.accounts import Account
from omni_ipc.errors import EnvironmentMissing, UsageError

_LOCAL = "127.0.0.1"


class Metrics(NamedTuple):
    """Where a soak is read: "http://127.0.0.1:9464/metrics", and what takes the account so far."""

    address: str
    show: Callable[[Account], None]


@contextlib.contextmanager
def serving_metrics(where: str) -> Iterator[Metrics]:
    """Serve what is shown, from then on to the end.

    Args:
        where: "9464" for this machine alone, or "0.0.0.0:9464" for others, too; with port 0, a free one is taken.

    Raises:
        UsageError: no such address, or somebody else has it.
        EnvironmentMissing: the client library is not installed.
    """
    try:
        from prometheus_client import CollectorRegistry, start_http_server

        from omni_ipc.stress.collector import SoakCollector
    except ImportError:
        raise EnvironmentMissing(
            "Metrics for Prometheus need its client, which is not installed here.",
            "pip install 'omni-ipc[prometheus]'",
        ) from None
    host, port = _parsed(where)
    collector, registry = SoakCollector(), CollectorRegistry()
    registry.register(collector)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise UsageError(
            f"Metrics cannot be served at {host}:{port}: {error.strerror}. Choose another port; 0 is any that is free."
        ) from None
    try:
        yield Metrics(f"http://{_bracketed(host)}:{server.server_port}/metrics", collector.show)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _parsed(where: str) -> tuple[str, int]:
    host, _, port = where.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"'{where}' is no place for metrics. Give a port, as 9464, or host and port, as 0.0.0.0:9464.")
    return host.strip("[]") or _LOCAL, int(port)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
