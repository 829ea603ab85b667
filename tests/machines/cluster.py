"""A Ray of two nodes with one core each, all on this machine, for as long as its standard input is open.

``python -m tests.machines.cluster PORT`` says its address and the address for clients, once it is up.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tests.support.commands import ROOT

_PATIENT = {"RAY_health_check_failure_threshold": "100"}  # a busy machine answers late, and its nodes are no less alive
_SMALL = 80 << 20  # of memory for objects; Ray takes no less


class Ray(NamedTuple):
    """How it is reached: by clients, and by its own nodes."""

    name: str
    address: str


@contextlib.contextmanager
def running() -> Iterator[Ray]:
    """Have such a Ray."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.machines.cluster", str(port)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0", **_PATIENT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "no Ray can be started here"
        yield Ray(f"ray://127.0.0.1:{port}", address)


def main() -> None:
    """Run it."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": _SMALL}
    cluster = Cluster(initialize_head=True, head_node_args={**head, "ray_client_server_port": int(sys.argv[1])})
    cluster.add_node(num_cpus=1, object_store_memory=_SMALL)
    print(cluster.address, flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
