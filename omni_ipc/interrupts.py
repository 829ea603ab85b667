"""Ctrl-C: put off where it would leave half of something behind, and asked for by other signals."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Answer a Ctrl-C that comes inside only at the end: what is begun there is whole, and can be cleaned up.

    For what is short, as the start of a process: interrupted between its fork and the moment at which it is known, it
    would be nobody's. Elsewhere than in the main thread nothing needs to be put off.
    """
    pressed: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    except ValueError:  # in another thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pressed:
            signal.raise_signal(signal.SIGINT)


def as_ctrl_c(_: int, frame: FrameType | None) -> None:
    """Handle a signal as Ctrl-C is handled now; where that is ignored, as in a shell's background, as by default."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)
