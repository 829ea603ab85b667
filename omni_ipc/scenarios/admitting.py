"""Two clients of an engine in which one request may wait, and somebody who aborts the first of them."""

from __future__ import annotations

from types import MappingProxyType

import msgspec

from omni_ipc.scenarios.clients import ABORTED
from omni_ipc.scenarios.request_path import REFUSED, RequestPathWorld
from omni_ipc.scenarios.world import DELIVERED


class AdmittingWorld(RequestPathWorld):
    """Both ask for their outputs; the second one is refused if the first one still waits for its turn."""

    ids = MappingProxyType({1: "a", 2: "b"})
    aborted = 1
    allowed = MappingProxyType({"client 1": {DELIVERED, ABORTED}, "client 2": {DELIVERED, REFUSED}})
    config = msgspec.structs.replace(RequestPathWorld.config, max_waiting=1)
