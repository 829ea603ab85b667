"""The folder of a soak: one soak's at a time, and with nothing in it of those before."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from omni_ipc.errors import UsageError
from omni_ipc.shards import ACCOUNT
from omni_ipc.stress.runtimes import ROUNDS
from omni_ipc.workflows.evidence import FINDINGS, SAMPLES
from omni_ipc.workflows.soak_keeping import LOG

_SHARDS = "shard-*"


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Have a folder for oneself, and remove what an earlier soak has left there; but evidence is removed by nobody.

    Of a soak that is refused no empty folder stays that was not there before.

    Raises:
        UsageError: another soak is at work there, or has found something; or it cannot be had.
    """
    with contextlib.ExitStack() as held:
        try:
            if not folder.exists():
                held.callback(_remove_if_empty, folder)
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"Another soak is at work in '{folder}'. Wait for its end, or choose another folder: --out DIR."
            ) from None
        except OSError as error:
            if error.errno not in _CANNOT_LOCK:
                raise UsageError(f"Cannot write '{folder}': {error.strerror}. Choose another folder.") from None
        _clear(folder)
        yield


_CANNOT_LOCK = (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP)  # file systems of networks, some of them


def forget_rounds(folder: Path) -> None:
    """Remove what processes have taken down, and nobody will look at any more, as whoever would have was killed."""
    for name in (SAMPLES, ROUNDS):
        shutil.rmtree(folder / name, ignore_errors=True)


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _clear(folder: Path) -> None:
    if not (folder / ACCOUNT).is_file():
        return  # no soak has been here, and whatever there is belongs to somebody else
    of_shards = [*folder.glob(_SHARDS)]
    for place in (folder, *of_shards):
        if (place / FINDINGS).is_dir() and any((place / FINDINGS).iterdir()):
            raise UsageError(
                f"'{place / FINDINGS}' holds what an earlier soak has found. Move it away, or choose another folder: "
                "--out DIR."
            )
    forget_rounds(folder)
    for left in (*of_shards, folder / FINDINGS):
        shutil.rmtree(left, ignore_errors=True)
    for name in (ACCOUNT, LOG):
        (folder / name).unlink(missing_ok=True)
