"""Ctrl-C and alarms: put off where they would leave half of something behind, forgotten, and by other signals."""

from __future__ import annotations

import contextlib
import signal
import threading  # noqa: TID251 - asks which thread this is
from collections.abc import Iterator
from types import FrameType

_RAISING = (signal.SIGINT, signal.SIGALRM)  # Ctrl-C, and by what test runners end a test that takes too long


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Answer a Ctrl-C, or an alarm, that comes inside only at the end: what is begun there is whole, and can be undone.

    For what is short, as the start of a process: interrupted between its fork and the moment at which it is known, it
    would be nobody's. Elsewhere than in the main thread nothing needs to be put off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: set[int] = set()
    handlers = {number: signal.getsignal(number) for number in _RAISING}
    handlers = {number: handler for number, handler in handlers.items() if handler is not None}  # C's own stay
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: came.add(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in sorted(came):
            signal.raise_signal(late)


def forget_ctrl_c() -> None:
    """Let the process end with the code that it says, whatever a Ctrl-C has gone through.

    Where that was C that runs source, as in the import of torch, Python notes it, and would end by SIGINT.
    """
    exec("")


def as_ctrl_c(_: int, frame: FrameType | None) -> None:
    """Handle a signal as Ctrl-C is handled now; where that is ignored, as in a shell's background, as by default."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)
