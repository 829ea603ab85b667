"""A number that a process shows for as long as it lives, to whoever looks at what it holds, and may die at any moment.

    the worker's process                      the soak's own
    Gauge.show(nbytes) ── size of a file ───► leftovers.held(pid), through /proc/PID/fd

The file lies in memory and has nothing in it, whatever its size: it is gone with its process, as what it tells of is.
"""

from __future__ import annotations

import contextlib
import os

NAME = "omni_soak.device"
TARGET = f"/memfd:{NAME}"
"""What a link to such a file begins with."""


class Gauge:
    """Bytes of a device's memory that this process keeps; no descriptor is open before some are shown."""

    def __init__(self) -> None:
        self._fd: int | None = None

    def show(self, nbytes: int) -> None:
        """Say how many they are now."""
        with contextlib.suppress(OSError):  # a fault may have left no descriptor: no request fails for a picture
            if self._fd is None:
                self._fd = os.memfd_create(NAME)
            os.ftruncate(self._fd, nbytes)

    def close(self) -> None:
        """Show nothing any more."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
