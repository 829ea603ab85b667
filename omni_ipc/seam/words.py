"""Shared memory as 8-byte words, with a futex to wait on one of them.

``memoryview.cast("Q")`` reads and writes an aligned word with one machine access, so a word is never seen half-written.
What must be added is order (`fence`) and sleep (`wait`, `wake`):

* x86-64 keeps loads in order, and stores in order; only a load may overtake an earlier store. `fence` forbids that one.
* AArch64 keeps no order, so there each store is preceded, and each load followed, by a fence. No such machine was at
  hand: this half is written from the architecture's manual and not tested.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import sys
import threading
from collections.abc import Callable

from omni_ipc.errors import EnvironmentMissing, UsageError

WORD_BYTES = 8

_FUTEX_WAIT = 0  # shared between processes: FUTEX_PRIVATE_FLAG stays off
_FUTEX_WAKE = 1
_SYSCALL_NUMBER = {"x86_64": 202, "aarch64": 98}
_SEQUENTIALLY_CONSISTENT = 5  # __ATOMIC_SEQ_CST
_LONGEST_WAIT_S = 86_400.0  # more is rounded down; callers look again anyway


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class NativeWords:
    """The words of one buffer, for any number of threads and processes; the caller keeps the mapping open.

    A load acquires, a store releases: what was written before a store is seen by whoever loads the value stored.
    """

    __slots__ = ("_address", "_bytes", "_lock", "_words")

    def __init__(self, buffer: memoryview) -> None:
        self._bytes = buffer.cast("B")
        self._words = self._bytes.cast("Q")
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        self._lock = threading.Lock()

    def load(self, index: int) -> int:
        return self._words[index]

    def store(self, index: int, value: int) -> None:
        self._words[index] = value

    def read(self, offset: int, nbytes: int) -> bytearray:
        """Copy bytes out; which must lie in the buffer."""
        return bytearray(self._bytes[offset : offset + nbytes])

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Copy bytes in; a view of them has the format "B"."""
        self._bytes[offset : offset + len(data)] = data

    def fence(self) -> None:
        """Let no access of this thread pass this point, in either direction; about 90 ns."""
        lock = self._lock  # a locked instruction is a full fence on x86-64, and the cheapest one within Python's reach
        if not lock.acquire(False):  # another thread is here, or an interrupt has cut it off between these lines
            lock = threading.Lock()
            lock.acquire()
        lock.release()

    def wait(self, index: int, value: int, timeout: float) -> bool:
        """Sleep while the word equals ``value``, at most ``timeout`` seconds, and tell whether it was not the time.

        The kernel compares the low 32 bits. A signal ends the wait early; it is never restarted, callers look again.
        """
        if self._words[index] != value:
            self.fence()  # as the system call is one
            return True
        seconds, rest = divmod(min(max(timeout, 0.0), _LONGEST_WAIT_S), 1.0)
        limit = _Timespec(int(seconds), int(rest * 1e9))
        address = self._address + index * WORD_BYTES
        if _futex()(_number(), address, _FUTEX_WAIT, value & 0xFFFF_FFFF, ctypes.byref(limit)) == 0:
            return True
        code = ctypes.get_errno()
        if code in (errno.ETIMEDOUT, errno.EAGAIN, errno.EINTR):
            return code != errno.ETIMEDOUT
        raise OSError(code, f"futex wait on word {index}: {os.strerror(code)}")

    def wake(self, index: int) -> None:
        """Wake everybody who waits on the word, in any process."""
        _futex()(_number(), self._address + index * WORD_BYTES, _FUTEX_WAKE, 0x7FFF_FFFF, None)


class _FencedWords(NativeWords):
    """The same where the machine may reorder any two accesses."""

    __slots__ = ()

    def load(self, index: int) -> int:
        value = self._words[index]
        _atomic_thread_fence()(_SEQUENTIALLY_CONSISTENT)
        return value

    def store(self, index: int, value: int) -> None:
        _atomic_thread_fence()(_SEQUENTIALLY_CONSISTENT)
        self._words[index] = value

    def fence(self) -> None:
        _atomic_thread_fence()(_SEQUENTIALLY_CONSISTENT)


def native_words(buffer: memoryview) -> NativeWords:
    """View a buffer of this process, or a shared mapping, as words.

    Args:
        buffer: writable, contiguous, 8-byte aligned, and a multiple of 8 bytes long.

    Raises:
        UsageError: the buffer is not such.
        EnvironmentMissing: on a processor, or an operating system, whose memory order or futex is not known here.
    """
    machine = _number() and platform.machine()
    if buffer.readonly or not buffer.c_contiguous or buffer.nbytes % WORD_BYTES or not buffer.nbytes:
        raise UsageError(
            f"Words need a writable, contiguous buffer of a multiple of {WORD_BYTES} bytes; this one has "
            f"{buffer.nbytes} bytes, read-only: {buffer.readonly}, contiguous: {buffer.c_contiguous}."
        )
    if ctypes.addressof(ctypes.c_char.from_buffer(buffer)) % WORD_BYTES:
        raise UsageError(f"Words need a buffer aligned to {WORD_BYTES} bytes. Slice it at a multiple of {WORD_BYTES}.")
    return NativeWords(buffer) if machine == "x86_64" else _FencedWords(buffer)


@functools.cache
def _number() -> int:
    """Number of the futex system call; raises where it, or the machine's memory order, is not known."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _SYSCALL_NUMBER or sys.byteorder != "little":
        raise EnvironmentMissing(
            f"Shared words need Linux on x86-64 or little-endian AArch64, and this is {sys.platform} on {machine}: "
            "its memory order and futex are not known to omni_ipc.",
            "Run it on such a machine, or in a container of one.",
        )
    return _SYSCALL_NUMBER[machine]


@functools.cache
def _futex() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = (ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
    call.restype = ctypes.c_long
    return call


@functools.cache
def _atomic_thread_fence() -> Callable[[int], None]:
    try:
        fence = ctypes.CDLL("libatomic.so.1").atomic_thread_fence
    except OSError as error:
        raise EnvironmentMissing(
            f"AArch64 needs libatomic for its memory fences ({error}).", "Install it: apt-get install libatomic1."
        ) from None
    fence.argtypes = (ctypes.c_int,)
    fence.restype = None
    return fence
