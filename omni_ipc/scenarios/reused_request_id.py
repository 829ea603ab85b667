"""A client comes back with an id, while the stream of its last request of that id is being closed."""

from __future__ import annotations

from types import MappingProxyType

from omni_ipc.scenarios.request_path import CLOSED, RequestPathWorld
from omni_ipc.scenarios.world import DELIVERED


class ReusedRequestIdWorld(RequestPathWorld):
    """The first stream is closed at any moment; the second one is asked for its output."""

    ids = MappingProxyType({1: "r", 2: "r"})
    closing = frozenset({1})
    allowed = MappingProxyType({"client 1": {CLOSED}, "client 2": {DELIVERED}})
