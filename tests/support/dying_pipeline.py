"""A pipeline whose process is killed in the middle of its first forward."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

from omni_ipc.serving.requests import Request


class DyingPipeline:
    """Computes nothing ever."""

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return []
