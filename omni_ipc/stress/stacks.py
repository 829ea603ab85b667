"""Where processes stand: the stacks of all their threads, which they print when a signal asks for them.

    soak ── SIGUSR1 ──► engine and clients, workers ── faulthandler ──► their log ──► a line a thread

It answers whatever its threads do: also one that waits for ever in C, or for a lock that nobody gives back.
"""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from omni_ipc.transport.liveness import stat_fields

_ASK = signal.SIGUSR1
_ANSWER_S = 3.0
_LOOK_S = 0.02
_MOST_FRAMES = 4
_THREAD = re.compile(r"^(?:Current thread|Thread) .*$", re.MULTILINE)
_FRAME = re.compile(r'File "(?P<path>[^"]*)", line (?P<line>\d+) in (?P<name>\S+)')
_OURS = "/omni_ipc/"


def answer() -> None:
    """Let this process print where all its threads stand, to standard error, when it is asked."""
    faulthandler.register(_ASK, all_threads=True)


def ask(processes: Mapping[str, int], log: Path) -> tuple[str, ...]:
    """Have processes say where they stand, one after another.

    Args:
        processes: name -> id.
        log: which they print to.

    Returns:
        a line a process and thread that has something of ours to do, its innermost call first.
    """
    return tuple(line for name, pid in processes.items() for line in _lines(name, pid, log))


def summary(printed: str) -> Iterator[str]:
    """Say where threads stand, of what faulthandler has printed; a line for those that stand alike."""
    threads = Counter(filter(None, map(_calls, _THREAD.split(printed)[1:])))
    for calls, count in threads.items():
        yield f"{count} x {calls}" if count > 1 else calls


def _lines(name: str, pid: int, log: Path) -> Iterator[str]:
    fields = stat_fields(str(pid))
    try:
        lines = [*summary(_printed(pid, log))]
    except OSError:
        fields = None
    if fields is None:
        yield f"{name} has ended"
        return
    for line in lines:
        yield f"{name}: {line}"
    if not lines:
        yield f"{name} ({pid}) does not say where it stands; the state of its process is {fields[0].decode()}"


def _printed(pid: int, log: Path) -> str:
    """Ask one process, and give what it prints; nothing if it does not listen, or not in time."""
    if not _answers(pid):  # the signal would end it
        return ""
    before = log.stat().st_size
    os.kill(pid, _ASK)
    deadline_s = time.monotonic() + _ANSWER_S
    size = before
    while time.monotonic() < deadline_s:
        time.sleep(_LOOK_S)
        if (now := log.stat().st_size) == size != before:
            break
        size = now
    with open(log, "rb") as file:
        file.seek(before)
        return file.read().decode(errors="replace")


def _answers(pid: int) -> bool:
    """Tell whether a process catches the signal."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, caught = line.partition(":")
        if name == "SigCgt":
            return bool(int(caught, 16) >> (_ASK - 1) & 1)
    return False


def _calls(stack: str) -> str:
    """Write the innermost calls of one thread that are ours; nothing if none is."""
    ours = [found for found in _FRAME.finditer(stack) if _OURS in found["path"]]
    return " < ".join(f"{Path(each['path']).name}:{each['line']} {each['name']}" for each in ours[:_MOST_FRAMES])
