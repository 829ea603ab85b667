"""The alarm: tells where code stands that has blocked in C, so that no Python runs any more.

The watchdog's signal is answered in Python, once C code returns, and while it holds the interpreter's lock, or goes on
waiting after each signal, that is never. So a thread of C, which needs no lock, writes the stack to a descriptor when
the watchdog has not looked for a while. Nobody can end such a step from within: who watches the process from outside
can (`outside`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys

PATIENCE_S = 10.0  # since the watchdog looked last
BEAT = b"\0"


class Alarm:
    """Where the stack is written: to standard error, unless somebody listens.

    Each process has one such thread of C, which others may use, too: who does so while an exploration runs loses it.
    """

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._listened_to = False

    def tell(self, descriptor: int | None, *, beats: bool = False) -> None:
        """Write to another descriptor from now on.

        Args:
            descriptor: None is standard error.
            beats: write a byte there, too, whenever the watchdog has looked.
        """
        self._descriptor = descriptor
        self._listened_to = beats

    def set(self) -> None:
        """Go off in a while, unless set again or switched off before."""
        descriptor = self._descriptor
        if descriptor is None:
            if sys.__stderr__ is None:  # it was closed, and its number may be somebody else's
                return
            descriptor = 2
        with contextlib.suppress(OSError, RuntimeError):  # no room for one more thread: then the watchdog is alone
            faulthandler.dump_traceback_later(PATIENCE_S, file=descriptor)
            if self._listened_to:
                os.write(descriptor, BEAT)

    def switch_off(self) -> None:
        """Do not go off."""
        faulthandler.cancel_dump_traceback_later()


ALARM = Alarm()
