"""Private temporary folders, and what becomes of them when their owner is killed.

Who owns a folder holds a lock on it, which the kernel releases however the owner ends. So a folder that can be locked
is nobody's, and the next one to come removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "omni-ipc-scratch-"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a new temporary folder, which goes when it is left; remove those whose owners were killed.

    Raises:
        OSError: there is no place for one.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        _remove_if_left(left)
    folder, descriptor = _make()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _make() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with contextlib.suppress(FileNotFoundError):  # somebody took it for one that was left behind
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if folder.exists():  # else somebody came before the lock
                return folder, descriptor
            os.close(descriptor)


def _remove_if_left(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it is another user's, or has just gone
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)
