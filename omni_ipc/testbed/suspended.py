"""Where a coroutine is that waits: in what it awaits, and so on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CoroutineType, FrameType
from typing import Any


def suspended(coroutine: Any) -> Iterator[tuple[Any, FrameType | None]]:
    """Give a coroutine and what it awaits, outermost first; with each, its frame until it has ended."""
    awaited = coroutine
    while awaited is not None:
        waits = awaited
        match awaited:
            case CoroutineType():
                frame, awaited = awaited.cr_frame, awaited.cr_await
            case _ if inspect.isasyncgen(awaited):
                frame, awaited = awaited.ag_frame, awaited.ag_await
            case _ if inspect.isgenerator(awaited):
                frame, awaited = awaited.gi_frame, awaited.gi_yieldfrom
            case _:
                break
        yield waits, frame
