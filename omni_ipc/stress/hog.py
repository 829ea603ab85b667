"""A process that takes memory beside those of a soak: so much and no more, touched page by page, until it is ended."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Iterator

from omni_ipc.conformance.processes.leash import start_leashed

HOG = "hog"
"""The fault; of those that hit no process, the only one."""

MACHINE = "machine"
"""Whom it hits."""

LEAST_BYTES = 64 << 20
"""Less than that is felt by nobody."""

_PROGRAM = """
import mmap, sys
with open("/proc/self/oom_score_adj", "w") as score:
    score.write("1000")  # if the machine has less than it said, this process goes first
nbytes, piece = int(sys.argv[1]), b"x" * (1 << 24)
taken = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE)
while left := nbytes - taken.tell():
    taken.write(piece[:left])
sys.stdin.read()
"""


@contextlib.contextmanager
def hog(nbytes: int) -> Iterator[None]:
    """Have a process take memory, as fast as it comes, and give it back at the end.

    Raises:
        OSError: it cannot be started; or it is too little to be felt.
    """
    if nbytes < LEAST_BYTES:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    with start_leashed(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, str(nbytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.kill()
