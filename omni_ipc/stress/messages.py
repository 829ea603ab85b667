"""What the process of engine and clients says to the soak's own: a line of JSON each, on a pipe."""

from __future__ import annotations

import os
import threading
import time
from typing import TypeAlias

import msgspec

from omni_ipc.errors import OmniError
from omni_ipc.serving.results import Outcome
from omni_ipc.stress.settings import SoakConfig

_AGAIN_S = 1.0  # between two lines that say the same
_LONGEST = 300  # characters of a sentence


class Order(msgspec.Struct, frozen=True):
    """What the process is to do; the one thing that it is told, but for when to end.

    Args:
        number: of its first round.
    """

    config: SoakConfig
    number: int


class Began(msgspec.Struct, frozen=True, tag=True):
    """A round has begun.

    Args:
        workers: their processes, by rank.
        seconds: that it takes, about.
        recorded: whether its steps are taken down.
        what: it is like.
    """

    number: int
    workers: tuple[int, ...]
    seconds: float
    recorded: bool
    what: str


class Told(msgspec.Struct, frozen=True, tag=True):
    """Somebody was told something that was not to be expected, unless there was a fault.

    Args:
        at_s: of the monotonic clock, as below.
    """

    at_s: float
    outcome: Outcome
    sentence: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A round could not begin, or broke off."""

    at_s: float
    number: int
    sentence: str


class Found(msgspec.Struct, frozen=True, tag=True):
    """Something that must not be, whatever happened.

    Args:
        kind: of an `accounts.Finding`.
    """

    at_s: float
    kind: str
    sentence: str


class Ended(msgspec.Struct, frozen=True, tag=True):
    """A round has ended, and everything of it is settled.

    Args:
        own_bytes: process -> the memory that it has for itself, once it gave back what it could; of those that live.
    """

    number: int
    own_bytes: dict[str, int]


Message: TypeAlias = Began | Told | Failed | Found | Ended


class Teller:
    """Says what there is to say; any thread may call it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}  # sentence -> when; guarded by _lock

    def say(self, message: Message) -> None:
        """Say something."""
        with self._lock:
            self._write(message)

    def told(self, error: OmniError) -> None:
        """Tell of an error that was not to be expected; of the same one now and then."""
        sentence = f"{type(error).__name__}: {first_line(error)}"
        now_s = time.monotonic()
        with self._lock:
            if now_s - self._said.get(sentence, -_AGAIN_S) < _AGAIN_S:
                return
            self._said[sentence] = now_s
            self._write(Told(now_s, Outcome.of(error), sentence))

    def found(self, kind: str, sentence: str) -> None:
        """Tell of something that must not be."""
        self.say(Found(time.monotonic(), kind, sentence))

    def said(self) -> tuple[str, ...]:
        """Give what somebody was told since all was forgotten."""
        with self._lock:
            return (*self._said,)

    def forget(self) -> None:
        """Let everything be told anew."""
        with self._lock:
            self._said.clear()

    def _write(self, message: Message) -> None:
        data = msgspec.json.encode(message) + b"\n"
        while data:
            data = data[os.write(self._fd, data) :]


def first_line(error: BaseException) -> str:
    """Say what an error says, in a line."""
    return str(error).partition("\n")[0][:_LONGEST]
