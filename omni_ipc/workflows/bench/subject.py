"""What is compared: a way from a writer process to a reader process, behind one interface.

    pair process                     writer process                    reader process
    subject = Class(case) ──fork──►  sender = subject.sender()         receiver = subject.receiver()
                                     sender.send(stamp)  ═══════════►  buffer = receiver.receive()
                                                                       receiver.release()

What both need is made before the fork, and inherited. The stamp is the time at which the send began; it stands in the
first and in the last 8 bytes of the message, so that a reader knows when it was sent, and that it is whole.
"""

from __future__ import annotations

import enum
import importlib
from typing import Any, ClassVar, Protocol, runtime_checkable

import msgspec


class Work(enum.StrEnum):
    """What a sender does with its data."""

    COPY = "copy"  # they lie in its memory, and the reader gets bytes of its own
    VIEW = "view"  # they lie in its memory, and the reader looks at shared memory
    TREE = "tree"  # view, as a leaf of a tree beside a struct
    LOAN = "loan"  # they are made in shared memory, and the reader looks at it
    BATCH = "batch"  # copy, many messages a call
    SPIN = "spin"  # one word, and nothing else
    REGION = "region"
    LOCK = "lock"


class Case(msgspec.Struct, frozen=True):
    """One thing to measure a subject at."""

    work: Work
    size_bytes: int  # of a message; 0 where there is none
    scratch: str  # a folder of this run's own; its name begins all names in /dev/shm


class Sender(Protocol):
    """The writer's end, in the writer process."""

    def send(self, stamp: int) -> None:
        """Send a message; wait while there is no room."""

    def close(self) -> None: ...


class Receiver:
    """The reader's end, in the reader process."""

    count = 1  # messages that the last `receive` brought

    def receive(self) -> Any:
        """Wait for the next message, and give a buffer of its bytes, or of the last of them."""
        raise NotImplementedError

    def release(self) -> None:
        """Look at that buffer no more."""

    def close(self) -> None:
        """Give back what this end holds."""


class Subject(Protocol):
    """What writer and reader share; made before they are two.

    If its reader spins, each side gets a core of its own; else the system places them as it likes.
    """

    spins: ClassVar[bool]

    def __init__(self, case: Case) -> None: ...
    def sender(self) -> Sender: ...
    def receiver(self) -> Receiver: ...
    def close(self) -> None: ...


@runtime_checkable
class Alone(Protocol):
    """A subject without a reader: how long something takes."""

    operations: int  # that one call of `once` does

    def once(self) -> None: ...
    def close(self) -> None: ...


class Payload:
    """A message in the sender's own memory, the same for each send, and so warm."""

    def __init__(self, size_bytes: int) -> None:
        self.bytes = bytearray(size_bytes)
        self._words = memoryview(self.bytes).cast("Q")

    def stamp(self, stamp: int) -> None:
        """Write the stamp into the first and the last 8 bytes."""
        self._words[0] = self._words[-1] = stamp


def load(path: str) -> Any:
    """Import a subject's class by "module:class", the module being one of `subjects` if it has no dots."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module if "." in module else f"{__package__}.subjects.{module}"), name)
