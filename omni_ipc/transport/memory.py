"""Anonymous shared memory: a sealed memfd, allocated and mapped in full before its first use.

    create: memfd_create → posix_fallocate → seal → mmap populated      attach: inherited fd → size, seals → mmap
              no name       no SIGBUS later   no resize  no page faults

Nothing is left in /dev/shm whatever dies when: the memory goes with its last descriptor and mapping.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from types import TracebackType

from omni_ipc.errors import EnvironmentMissing, FormatError, OmniError, UsageError

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_BLOCK_BYTES = 512  # of st_blocks, whatever the file system
_MADV_POPULATE_WRITE = 23
_STANDARD = 2  # the highest number of a standard stream


class Segment:
    """A shared mapping and the descriptor that lets another process map it too.

    Pass ``fd`` to a child with ``subprocess.Popen(..., pass_fds=[segment.fd])`` and attach it there by the same number.
    """

    def __init__(self, fd: int, nbytes: int, name: str) -> None:
        self.fd = fd
        self.name = name
        whole = os.fstat(fd).st_blocks * _BLOCK_BYTES >= nbytes
        self._map = mmap.mmap(fd, nbytes, flags=mmap.MAP_SHARED | (mmap.MAP_POPULATE if whole else 0))
        self.view = memoryview(self._map)

    @classmethod
    def create(cls, nbytes: int, *, name: str, reserved: int | None = None) -> Segment:
        """Make a zero-filled segment.

        Args:
            nbytes: its size for good, 1 byte or more.
            name: for messages, and for the eyes of those who look into /proc/PID/maps.
            reserved: bytes at its start that get their memory now, all unless given; `reserve` the rest before use.

        Raises:
            EnvironmentMissing: this machine has no memory, or this process no descriptor, left for it.
        """
        if nbytes < 1:
            raise UsageError(f"Segment '{name}' cannot have {nbytes} bytes. Give a size of 1 or more.")
        fd = -1
        try:
            fd = beyond_standard(os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
            os.ftruncate(fd, nbytes)
            os.posix_fallocate(fd, 0, nbytes if reserved is None else reserved)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
            return cls(fd, nbytes, name)
        except BaseException as error:  # interrupted, too: to get the memory takes a while
            if fd >= 0:
                os.close(fd)
            if isinstance(error, OSError):
                raise _unavailable(name, nbytes, error) from None
            raise

    @classmethod
    def attach(cls, fd: int, *, name: str) -> Segment:
        """Map the segment behind an inherited descriptor, and own the descriptor from now on.

        Raises:
            UsageError: the descriptor is not open in this process.
            FormatError: it is no sealed memory; the descriptor stays open, and the caller's.
            EnvironmentMissing: this machine has no memory left to map it.
        """
        try:
            nbytes = os.fstat(fd).st_size
        except OSError:
            raise UsageError(
                f"Descriptor {fd}, for segment '{name}', is not open here. Start this process with pass_fds=[{fd}]."
            ) from None
        if _seals(fd) & _SEALS != _SEALS or nbytes == 0:
            raise FormatError(
                f"Descriptor {fd}, for segment '{name}', seals: it is no memory sealed by Segment.create ({nbytes} "
                "bytes). Pass the fd of a segment, by the same number."
            )
        try:
            return cls(fd, nbytes, name)
        except OSError as error:
            raise _unavailable(name, nbytes, error) from None

    def reserve(self, offset: int, nbytes: int) -> None:
        """Get memory for a part of the segment, and map it; both are page-aligned. Idempotent.

        Raises:
            EnvironmentMissing: this machine has no memory left for it.
        """
        try:
            os.posix_fallocate(self.fd, offset, nbytes)
        except OSError as error:
            raise _unavailable(self.name, nbytes, error) from None
        with contextlib.suppress(OSError):  # before Linux 5.14 its pages are mapped one by one, on first touch
            self._map.madvise(_MADV_POPULATE_WRITE, offset, nbytes)

    def close(self) -> None:
        """Close the descriptor, and unmap; views that still live keep the mapping until they go. Idempotent."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        with contextlib.suppress(BufferError):  # somebody's view lives: the garbage collector unmaps behind it
            self.view.release()
            self._map.close()

    def __enter__(self) -> Segment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def beyond_standard(fd: int) -> int:
    """Move a descriptor off the numbers of standard input, output and error, which are free if those were closed.

    Whatever prints there would print into it.
    """
    if fd > _STANDARD:
        return fd
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STANDARD + 1)
    finally:
        os.close(fd)


def map_for_good(fd: int, name: str) -> memoryview:
    """Map a segment for as long as somebody looks at it; the descriptor stays open, and the caller's.

    Raises:
        See `Segment.attach`.
    """
    own = os.dup(fd)
    try:
        with Segment.attach(own, name=name) as segment:
            return segment.view[:]
    except OmniError:
        os.close(own)  # it was not taken
        raise


def _seals(fd: int) -> int:
    try:
        return fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:  # not a memfd
        return 0


def _unavailable(name: str, nbytes: int, error: OSError) -> EnvironmentMissing:
    return EnvironmentMissing(
        f"Segment '{name}' of {nbytes:,} bytes cannot be had: {error.strerror}.",
        "Free memory or descriptors (see `free -m` and `ulimit -a`), or ask for less.",
    )
