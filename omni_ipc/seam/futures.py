"""Settle a future that somebody else may have settled or cancelled meanwhile.

``if not future.done(): future.set_result(...)`` is not atomic: a waiter that cancels between the two makes the second
one raise, and whoever settles futures for many waiters (the pump) must not die of one of them.
"""

from __future__ import annotations

from concurrent.futures import InvalidStateError
from typing import TypeVar

from omni_ipc.seam.api import Future

T = TypeVar("T")


def resolve(future: Future[T], value: T) -> bool:
    """Give the future its result, and tell whether it was taken.

    Returns:
        False when the future was cancelled or settled before: the value went nowhere.
    """
    try:
        future.set_result(value)
    except InvalidStateError:
        return False
    return True


def fail(future: Future[T], error: BaseException) -> bool:
    """Give the future its error, and tell whether it was taken.

    Returns:
        False when the future was cancelled or settled before: the error went nowhere.
    """
    try:
        future.set_exception(error)
    except InvalidStateError:
        return False
    return True
