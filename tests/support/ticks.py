"""A clock that goes as fast as this process is let run."""

from __future__ import annotations

import time
from types import TracebackType

from tests.support.lanes import RT

TICK_S = 0.01


class Ticks:
    """Counts the hundredths of a second that a thread of this process was given; a context manager.

    Where the machine has time, it is the time on the wall. Where it has none, this clock stands still, as threads do
    whose haste it measures: a bound in its seconds says what the code does, and not what else the machine does.
    """

    def __init__(self) -> None:
        self._ticks = 0
        self._over = RT.event()
        self._task = RT.spawn(self._tick, name="ticks")

    def now(self) -> float:
        """Give the seconds since the beginning."""
        return self._ticks * TICK_S

    def __enter__(self) -> Ticks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._task.join()

    def _tick(self) -> None:
        while not self._over.is_set():
            time.sleep(TICK_S)
            self._ticks += 1
