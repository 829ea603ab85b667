"""When Ctrl-C is answered: while a command works.

Before that, it is noted, and answered as soon as the work begins; so it breaks no import in the middle. After that,
what was found is told whole: half a verdict is none. Who asks to end otherwise, by SIGTERM or SIGHUP, gets the same.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from omni_ipc.interrupts import as_ctrl_c, forget_ctrl_c


class _Interrupts:
    """What a request to end meets.

    Attributes:
        is_noted: there was one that nobody has answered.
    """

    def __init__(self) -> None:
        self.is_noted = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """Leave a request to whoever works next."""
        self.is_noted = True


_interrupts = _Interrupts()


def defer() -> None:
    """Note requests to end, in place of answering them."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupts.note)
    for request in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, as_ctrl_c)


@contextlib.contextmanager
def answered() -> Iterator[None]:
    """Answer requests to end by KeyboardInterrupt, at once, and those that were noted; then note them again."""
    if signal.getsignal(signal.SIGINT) != _interrupts.note:
        yield  # it is ignored, or whoever calls has an answer of their own
        return
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if _interrupts.is_noted:
            raise KeyboardInterrupt
        yield
    finally:
        signal.signal(signal.SIGINT, _interrupts.note)


def leave(code: int) -> NoReturn:
    """End the process: all is told, so a request to end has only that left to do, and must not change the code."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    for request in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, lambda *_: os._exit(code))
    forget_ctrl_c()
    sys.exit(code)
