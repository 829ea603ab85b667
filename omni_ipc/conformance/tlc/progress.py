"""How far a run of TLC has come, by what it prints once a minute.

Progress(22) at 2026-11-30 14:00:56: 4,107,249 states generated (2,732,020 s/min), 1,106,743 distinct states
found (715,115 ds/min), 279,705 states left on queue.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

_REPORT = re.compile(
    r"Progress\(\d+\) at (?P<at>[\d-]+ [\d:]+): .*, (?P<distinct>[\d,]+) distinct states found "
    r"\((?P<a_minute>[\d,]+) ds/min\), (?P<queue>[\d,]+) states left on queue"
)
_SILENT = timedelta(minutes=1)


class Reached(msgspec.Struct, frozen=True):
    """How far a run has come."""

    distinct: int  # states found
    queue: int  # of these, those whose steps were not looked at yet
    a_minute: int  # distinct states that the last minute has brought

    def __str__(self) -> str:
        return extent(self.distinct, self.queue)


def extent(distinct: int, queue: int) -> str:
    """Say how far a run has come."""
    return f"{distinct:,} distinct states, {queue:,} on the queue"


class Reports:
    """Hears the lines of a run, and tells how far it has come, from its first minute on.

    TLC also reports after three seconds, and at the end of a run, however short: neither tells of a minute.
    """

    def __init__(self, tell: Callable[[Reached], object]) -> None:
        self._tell = tell
        self._first: datetime | None = None

    def hear(self, line: str) -> None:
        """Hear a line of TLC's output."""
        if (said := _REPORT.match(line)) is None:
            return
        at = datetime.fromisoformat(said["at"])
        self._first = self._first or at
        if abs(at - self._first) >= _SILENT:  # before the first is what an hour is that comes twice, in autumn
            self._tell(Reached(*(int(said[name].replace(",", "")) for name in ("distinct", "queue", "a_minute"))))
