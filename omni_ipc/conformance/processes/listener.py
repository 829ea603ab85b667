"""What a process says, taken in while it runs: what it prints, line by line as it comes, and its errors beside it.

Both streams are read together, so that neither fills up while somebody waits for the other.
"""

from __future__ import annotations

import codecs
import io
import os
import selectors
import subprocess
import time
from collections.abc import Callable

_CHUNK_BYTES = 1 << 15

Hear = Callable[[str], object]
"""Called with each line of the output, without its end, by whoever waits for the process."""


class Listener:
    """Listens to a process that was started with pipes and as text.

    Args:
        hear: hears the output; what stands behind its last line end is heard when it is over.

    Attributes:
        output, errors: what was said so far.
    """

    def __init__(self, process: subprocess.Popen[str], hear: Hear | None) -> None:
        assert isinstance(process.stdout, io.TextIOWrapper)
        assert isinstance(process.stderr, io.TextIOWrapper)
        self._process = process
        self._output = _Stream(process.stdout, hear)
        self._errors = _Stream(process.stderr, None)

    @property
    def output(self) -> str:
        return "".join(self._output.said)

    @property
    def errors(self) -> str:
        return "".join(self._errors.said)

    def listen(self, timeout_s: float | None = None) -> bool:
        """Listen until both streams are closed and the process has ended; tell whether that came in time.

        It is not reaped, so that its group is still its own.
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        with selectors.PollSelector() as waiting:
            for stream in (self._output, self._errors):
                if stream.is_open:
                    waiting.register(stream.descriptor, selectors.EVENT_READ, stream)
            while waiting.get_map():
                for key, _ in waiting.select(_left(end)):
                    key.data.take()
                    if not key.data.is_open:
                        waiting.unregister(key.fd)
                if _left(end) == 0:
                    return False
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except ProcessLookupError:  # another thread has waited for it
            return True
        try:
            with selectors.PollSelector() as waiting:
                waiting.register(descriptor, selectors.EVENT_READ)
                return bool(waiting.select(_left(end)))
        finally:
            os.close(descriptor)


class _Stream:
    """One of the two."""

    def __init__(self, pipe: io.TextIOWrapper, hear: Hear | None) -> None:
        decoder = codecs.getincrementaldecoder(pipe.encoding)(pipe.errors or "strict")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._hear = hear
        self._begun = ""  # a line that has not ended
        self.descriptor = pipe.fileno()
        self.said: list[str] = []
        self.is_open = True

    def take(self) -> None:
        """Take in what has come."""
        data = os.read(self.descriptor, _CHUNK_BYTES)
        self.is_open = bool(data)
        text = self._decoder.decode(data, final=not data)
        self.said.append(text)
        if self._hear is not None:
            *lines, self._begun = (self._begun + text).split("\n")
            for line in [*lines, *([self._begun] if self._begun and not data else [])]:
                self._hear(line)


def _left(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.monotonic())
