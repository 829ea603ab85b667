"""Waiting for a predicate, by a clock of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(
    predicate: Callable[[], T],
    timeout: float | None,
    *,
    wait: Callable[[float | None], object],
    now: Callable[[], float],
) -> T:
    """Wait until a predicate holds, or the time is up; as `threading.Condition.wait_for`, whose clock is Python's.

    Args:
        timeout: in seconds; it waits once even if there are none, which lets others have the lock.
        wait: waits for a notification, for so long at most.

    Returns:
        what the predicate gave last.
    """
    end: float | None = None
    left = timeout
    while not (found := predicate()):
        if left is not None:
            if end is None:
                end = now() + left
            elif (left := end - now()) <= 0:
                break
        wait(left)
    return found
