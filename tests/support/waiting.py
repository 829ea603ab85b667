"""Waits of tests: bounded, and without a clock of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail if the block takes longer."""
    before = time.monotonic()
    yield
    assert time.monotonic() - before < seconds


def until(condition: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Wait for something that another process does, and fail if it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.001)


def again(call: Callable[[], object], *, despite: type[Exception] | None = None) -> None:
    """Call again and again, until an error of another kind ends it."""
    while True:
        with suppress(*[despite] if despite else []):
            call()
