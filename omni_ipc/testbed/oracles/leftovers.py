"""What a scenario leaves behind in the process that explores it: descriptors and threads that were not there before."""

from __future__ import annotations

import os
import threading

_MOST_TOLD = 3
_DESCRIPTORS = "/proc/self/fd"


class Leftovers:
    """Remembers what the process holds, and tells what it holds beside that later."""

    def __init__(self) -> None:
        self._descriptors = _descriptors()
        self._threads = _threads()

    def told(self) -> tuple[str, ...]:
        """Say what has come since, a sentence for each kind."""
        opened = {fd: target for fd, target in _descriptors().items() if self._descriptors.get(fd) != target}
        started = {ident: name for ident, name in _threads().items() if ident not in self._threads}
        notes = []
        if opened:
            names = _some([f"{fd} -> {target}" for fd, target in sorted(opened.items())])
            notes.append(f"The scenario left descriptors open: {names}. Close in it what it opens.")
        if started:
            notes.append(f"The scenario left real threads behind: {_some(sorted(started.values()))}. Join them in it.")
        return tuple(notes)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
    return ", ".join(names[:_MOST_TOLD]) + more


def _descriptors() -> dict[int, str]:
    found = {}
    for fd in os.listdir(_DESCRIPTORS) if os.path.isdir(_DESCRIPTORS) else ():
        try:
            found[int(fd)] = os.readlink(f"{_DESCRIPTORS}/{fd}")
        except OSError:  # the one that lists them
            continue
    return found


def _threads() -> dict[int, str]:
    return {thread.ident: thread.name for thread in threading.enumerate() if thread.ident is not None}
