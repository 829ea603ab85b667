"""Who measures comes first; it imports nothing that a peer's Python may not have."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_FIRST = -20


def come_first() -> None:
    """Let what else runs on the machine disturb as little as it can, if the system allows that."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _FIRST)
        Path("/proc/self/autogroup").write_text(str(_FIRST))  # this session is a group, and priority counts within
