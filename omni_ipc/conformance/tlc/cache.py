"""What a run of Java said, kept: the same modules, options and jar give the same again.

Only where OMNI_IPC_TLC_CACHE names a folder. A run is known by everything that it depends on; one that was killed, ran
out of its time, or ended in an error, which may have been the machine's, is not kept. In the folder also lies an
archive of Java's and TLC's classes: with it, a run begins in half the time.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from omni_ipc.conformance.processes.children import Ended
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import UsageError
from omni_ipc.records import write_atomically

_ENVIRONMENT = "OMNI_IPC_TLC_CACHE"
_MOST_BYTES = 8 << 20  # of one run; a dump of a large state graph is not worth its room
_MOST_RUNS = 2_000


class Kept(msgspec.Struct, frozen=True):
    """A run that has ended by itself."""

    output: str
    errors: str
    exit_code: int
    files: dict[str, str]
    seconds: float

    @property
    def ended(self) -> Ended:
        return Ended(self.output, self.errors, self.exit_code, timed_out=False)


class Cache:
    """Runs of Java, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def find(cls, toolchain: Toolchain) -> Cache | None:
        """Take the folder that the environment names; none for a TLC whose bytes cannot be seen.

        Raises:
            UsageError: the folder cannot be made.
        """
        named = os.environ.get(_ENVIRONMENT)
        if not named or toolchain.container is not None or not toolchain.jar.is_file():
            return None
        try:
            Path(named).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{_ENVIRONMENT} is '{named}', which cannot be made: {error.strerror}. Name another, or unset it."
            ) from None
        return cls(Path(named))

    def load(self, key: str) -> Kept | None:
        """Give a run that was kept; what is damaged is none."""
        path = self._path(key)
        try:
            kept = msgspec.json.decode(gzip.decompress(path.read_bytes()), type=Kept)
            os.utime(path)
        except (OSError, EOFError, ValueError):
            return None
        return kept

    def save(self, key: str, kept: Kept) -> None:
        """Keep a run, and let go of those that were not used for longest."""
        data = msgspec.json.encode(kept)
        if len(data) > _MOST_BYTES:
            return
        write_atomically(self._path(key), gzip.compress(data, mtime=0))
        used = sorted(self.folder.glob("*.run.gz"), key=_last_use)
        for path in used[:-_MOST_RUNS]:
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one in the folder, of all processes."""
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.run.gz"


def key_of(
    toolchain: Toolchain,
    program: str,
    arguments: Sequence[str],
    files: Mapping[str, str],
    library: Sequence[Path],
    keep: Sequence[str],
) -> str:
    """Everything that a run depends on, as a digest."""
    modules = sorted(path for folder in library for path in folder.glob("*.tla"))
    parts = [
        toolchain.sha256(),
        str(toolchain.java),
        program,
        *arguments,
        *(part for name in sorted(files) for part in (name, files[name])),
        *(part for path in modules for part in (path.name, path.read_text())),
        *keep,
    ]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def _last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another one has let go of it
        return 0.0
