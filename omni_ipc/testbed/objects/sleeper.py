"""One wait for a wake-up that others give."""

from __future__ import annotations


class Sleeper:
    """A task that sleeps, until somebody wakes it; on an event, or on a word."""

    __slots__ = ("woken",)

    def __init__(self) -> None:
        self.woken = False

    def is_woken(self) -> bool:
        return self.woken
