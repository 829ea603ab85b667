"""Two clients that leave without their outputs: one closes the layer over its stream, the other deletes its stream."""

from __future__ import annotations

from types import MappingProxyType

from omni_ipc.scenarios.clients import GONE
from omni_ipc.scenarios.request_path import CLOSED, RequestPathWorld


class AbandonedStreamWorld(RequestPathWorld):
    """Somebody aborts the first one besides; what is computed for them is dropped, here or on arrival."""

    ids = MappingProxyType({1: "a", 2: "b"})
    closing = frozenset({1})
    deserting = frozenset({2})
    aborted = 1
    allowed = MappingProxyType({"client 1": {CLOSED}, "client 2": {GONE}})
