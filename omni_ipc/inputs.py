"""Files that somebody names to be read: regular ones, of a size that memory holds."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 256 << 20
"""More than any trace or account has: a step takes some hundred bytes, and a soak keeps a bounded number of samples. Of
a recording, a million steps or so of one process, of which a model looks at some thousands."""


def read_file(path: Path) -> bytes:
    """Read a whole file; a device, which has no end, or a FIFO, which nobody may write to, is refused at once.

    Raises:
        OSError: it cannot be read, is no regular file, or is longer than 256 MiB; ``strerror`` says which.
    """
    with open(path, "rb", opener=_open_nowait) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        if status.st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, f"it has {status.st_size >> 20:,} MiB, and {MOST_BYTES >> 20} are the most")
        return file.read()


def _open_nowait(path: str, flags: int) -> int:
    """Open a FIFO that has no writer, too, instead of waiting for one."""
    return os.open(path, flags | os.O_NONBLOCK)
