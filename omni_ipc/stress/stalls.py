"""Whether a soak gets on: while anything is open something must come to an end, however busy the machine is."""

from __future__ import annotations

import contextlib
import os

STALLED_S = 20.0
"""So long nothing may end on a machine that has time for it: far beyond whatever the load does by itself."""

SILENT_S = 240.0
"""So long a process may say nothing, while nothing ends: beyond every timeout of a round, from its start to its end."""

_SLOWEST = 2.5  # times: what is open may time out after a minute, and a stall must be noticed before that


def patience(seconds: float) -> float:
    """Say how long to wait on this machine, as it is now, for what takes so long at most if it has time for it."""
    with contextlib.suppress(OSError):
        waiting = os.getloadavg()[0] / len(os.sched_getaffinity(0))  # tasks that want to run, for each core
        return seconds * min(_SLOWEST, max(1.0, waiting))
    return seconds


class Progress:
    """Notices when nothing comes to an end any more, though something is open; one task's.

    Args:
        now_s: as in `look`.
        most_s: between two ends, on a machine that has time for it.
    """

    def __init__(self, now_s: float, most_s: float = STALLED_S) -> None:
        self._most_s = most_s
        self._since_s = now_s
        self._ended = 0
        self._told = False

    def look(self, now_s: float, *, ended: int, unsettled: int) -> float | None:
        """Take note of the counts, and say for how long nothing has ended, if that is too long: of each stall once.

        Args:
            now_s: on the monotonic clock.
            ended: so far.
            unsettled: that are open.
        """
        if unsettled <= 0 or ended != self._ended:
            self._since_s, self._ended, self._told = now_s, ended, False
            return None
        stalled_s = now_s - self._since_s
        if self._told or stalled_s < patience(self._most_s):
            return None
        self._told = True
        return stalled_s
