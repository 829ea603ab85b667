"""What a scenario prints while it is explored: thousands of times the same, so it is counted, and not shown."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, TextIO

from omni_ipc.testbed.standard.world import running

_MOST_TOLD = 60  # letters


class Muted:
    """Keeps what controlled tasks write to standard output and error from being seen, while it is open.

    Attributes:
        first: the first line that they wrote.
    """

    def __init__(self) -> None:
        self.first = ""
        self._streams: list[tuple[str, TextIO]] = []

    def __enter__(self) -> Muted:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None:
                self._streams.append((name, stream))
                setattr(sys, name, _Muffler(stream, self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._streams:
            setattr(sys, *self._streams.pop())

    def note(self, text: str) -> None:
        """Take note of what a task wrote."""
        if not self.first and text.strip():
            self.first = text.strip().splitlines()[0]

    def told(self) -> tuple[str, ...]:
        """Say that there was something, in a sentence."""
        if not self.first:
            return ()
        cut = self.first[:_MOST_TOLD] + ("..." if len(self.first) > _MOST_TOLD else "")
        return (f"The scenario prints in each schedule, '{cut}' first; that is not shown. A replay shows it.",)


class _Muffler:
    """Stands for a stream: lets pass what is not written by a controlled task."""

    def __init__(self, stream: TextIO, muted: Muted) -> None:
        self._stream = stream
        self._muted = muted

    def write(self, text: str) -> int:
        if running() is None:
            return self._stream.write(text)
        self._muted.note(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def close(self) -> None:
        """Leave the stream open for the process that explores, unless that closes it."""
        if running() is None:
            self._stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
