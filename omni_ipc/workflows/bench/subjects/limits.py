"""What nothing on this machine can beat from Python: a word seen by another process, and one copy of warm memory."""

from __future__ import annotations

import ctypes
import mmap

from omni_ipc.workflows.bench.subject import Case, Receiver


class Flag:
    """One shared word; the reader looks at nothing else."""

    spins = True

    def __init__(self, _: Case) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self._words = memoryview(self._memory).cast("Q")
        self._words[0] = 1  # no stamp

    def sender(self) -> _Sender:
        return _Sender(self._words)

    def receiver(self) -> _Receiver:
        return _Receiver(self._words)

    def close(self) -> None:
        self._words.release()


class _Sender:
    def __init__(self, words: memoryview) -> None:
        self._words = words

    def send(self, stamp: int) -> None:
        self._words[0] = stamp

    def close(self) -> None:
        return


class _Receiver(Receiver):
    def __init__(self, words: memoryview) -> None:
        self._words = words
        self._seen = words[0]

    def receive(self) -> bytes:
        words, seen = self._words, self._seen
        while (stamp := words[0]) == seen:
            pass
        self._seen = stamp
        return stamp.to_bytes(8, "little")


class Memcpy:
    """One copy into a shared mapping that was written before."""

    operations = 1

    def __init__(self, case: Case) -> None:
        self._size_bytes = case.size_bytes
        self._memory = mmap.mmap(-1, max(case.size_bytes, mmap.PAGESIZE))
        self._target = ctypes.c_char.from_buffer(self._memory)
        self._source = (ctypes.c_char * case.size_bytes).from_buffer(bytearray(b"\1") * case.size_bytes)

    def once(self) -> None:
        ctypes.memmove(ctypes.addressof(self._target), self._source, self._size_bytes)

    def close(self) -> None:
        del self._target
        self._memory.close()
