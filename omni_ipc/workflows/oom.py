"""What the kernel has killed for want of memory: counted by it, and not told to whoever waits for the process.

A process that ends by SIGKILL does not say whose. Where the kernel counts its own kills, and the count has risen just
then, it was the machine that failed, and not what ran there. Where it does not count them, nobody knows.
"""

from __future__ import annotations

import time
from pathlib import Path

from omni_ipc.workflows.limits import oom_kills

_LATELY_S = 60.0  # a process with much memory takes its time to end; and so does who tells of it


class OomKills:
    """Notices that the kernel has killed something for want of memory; one task's.

    Args:
        root: where ``proc`` and ``sys`` are mounted.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._counts = oom_kills(root)
        self._rises: dict[str, tuple[float, int]] = {}  # file -> when it was last seen to have risen, and by how much

    def lately(self) -> str:
        """Look, and tell of kills within the last minute, with where they are counted; "" if there were none."""
        now_s, counts = time.monotonic(), oom_kills(self._root)
        for file, count in counts.items():
            if (more := count - self._counts.get(file, count)) > 0:
                self._rises[file] = now_s, more
        self._counts = counts
        for file, (at_s, more) in self._rises.items():
            if now_s - at_s < _LATELY_S:
                return f"memory ran out, and the kernel killed for it: 'oom_kill' in {file} rose by {more}"
        return ""

    @property
    def are_counted(self) -> bool:
        """Tell whether the kernel counts them here; if so, and none was, it has killed nobody."""
        return bool(self._counts)
