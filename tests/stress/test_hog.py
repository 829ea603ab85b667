"""A hog takes the memory that it is told to, no more, and gives it back."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from omni_ipc.stress.hog import LEAST_BYTES, hog

PATIENCE_S = 60.0


def hogs() -> list[int]:
    """Give the ids of those that this process has started."""
    ids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    return [pid for pid in ids if parent(pid) == os.getpid() and b"oom_score_adj" in command(pid)]


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_it_takes_what_it_is_told_to_and_is_gone_at_the_end() -> None:
    """Every page is touched; the kernel would end it before anybody else; also who fails in between leaves none."""
    looked = threading.Event()

    def look() -> None:
        with hog(LEAST_BYTES):
            (pid,) = hogs()
            while resident(pid) < LEAST_BYTES:
                assert not looked.wait(0.01), "it never took it all"
            assert resident(pid) < 2 * LEAST_BYTES
            assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
            os.kill(pid, signal.SIGSTOP)  # as one that is still busy, it does not end by itself
            raise KeyboardInterrupt

    watchdog = threading.Timer(PATIENCE_S, looked.set)
    watchdog.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            look()
    finally:
        watchdog.cancel()
        watchdog.join()
    assert hogs() == []


def test_what_nobody_would_feel_is_refused() -> None:
    """Where there is next to nothing left to take."""
    with pytest.raises(OSError, match="Cannot allocate memory"), hog(LEAST_BYTES - 1):
        pass
    assert hogs() == []
