"""What asyncio does, case by case: functions that return it, to be run on the real loop and on the controlled one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

CASES: dict[str, Callable[[], object]] = {}

TICK_S = 0.005
"""Apart enough for the real loop to keep two timers in order."""


def case(fn: Callable[[], object]) -> Callable[[], object]:
    """Add a plain function to the cases."""
    CASES[fn.__name__] = fn
    return fn


def coroutine_case(fn: Callable[[], Coroutine[Any, Any, object]]) -> Callable[[], object]:
    """Add a coroutine function to the cases, run by ``asyncio.run``."""

    def run() -> object:
        return asyncio.run(fn())

    run.__name__ = fn.__name__
    return case(run)


def told(error: BaseException) -> str:
    """Return class and text of an error."""
    return f"{type(error).__name__}: {error}"


def error_of(fn: Callable[[], object]) -> str:
    """Call a function, and tell what it raised."""
    try:
        fn()
    except BaseException as error:
        return told(error)
    return "nothing"


async def error_in(awaitable: Any) -> str:
    """Await something, and tell what it raised."""
    try:
        await awaitable
    except BaseException as error:
        return told(error)
    return "nothing"
