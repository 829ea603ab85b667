"""The host as a device whose copies come late when they are told to: what an accelerator does by itself."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from omni_ipc import trees
from omni_ipc.device.api import DeviceEvent
from omni_ipc.device.host import HostDevice


class Late:
    """Stands in an output for its lateness, until it is copied."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class LateHost(HostDevice):
    """Reads what was computed only when it is due."""

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        """Wait for the latest of a batch; then copy all of it."""
        late = [leaf.seconds for leaf in trees.leaves(tree) if isinstance(leaf, Late)]
        if not late:
            return super().to_host(tree, after=after)
        time.sleep(max(late))
        return trees.mapped(_copied, tree)


def _copied(leaf: Any) -> Any:
    if isinstance(leaf, Late):
        return leaf.seconds
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf
