"""A program's side: an order comes on standard input, lines of JSON go to standard output.

What else it prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from omni_ipc.interrupts import as_ctrl_c, forget_ctrl_c

_PR_SET_PDEATHSIG = 1


class Mouth:
    """Says a line at a time to whoever started this process; from then on nothing else reaches them."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)

    def say(self, what: Any) -> None:
        try:
            self._out.write(msgspec.json.encode(what) + b"\n")
        except BrokenPipeError:  # the starter was killed, and nobody is left to hear
            os._exit(1)


def end_with_starter() -> None:
    """Have the kernel kill this process once the thread that started it has ended; end now, if it has already.

    Whoever is killed while Python still starts here has left a pipe behind that nobody reads.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    (heard := select.poll()).register(1, 0)  # errors alone, which are told unasked
    if any(events & select.POLLERR for _, events in heard.poll(0)):
        os._exit(1)


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Take it as Ctrl-C to be asked to end, and end quietly then; behind that, heed it no more. In the main thread."""
    try:
        signal.signal(signal.SIGTERM, as_ctrl_c)
        yield
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # all is said, and nothing else is left to do than to end
    except KeyboardInterrupt:
        forget_ctrl_c()
        sys.exit(130)


def read_order() -> bytes:
    """Read what is to be done."""
    return sys.stdin.buffer.read()
