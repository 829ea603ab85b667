"""What is asked of machines, and what they tell."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol


class Program(NamedTuple):
    """What a machine runs: ``python -m MODULE``.

    Args:
        order: JSON, which it reads from its standard input. It says lines of JSON on its standard output, and ends in
            good order when asked to by SIGTERM: see `child`.
    """

    module: str
    order: bytes


class Needs(NamedTuple):
    """What a place must have.

    Args:
        whole: all of a machine, so that nothing else there is measured; otherwise one core.
        gpus: that are the program's own.
    """

    whole: bool = False
    gpus: int = 0


class Said(NamedTuple):
    """A program has said a line."""

    shard: int
    line: bytes


class Ended(NamedTuple):
    """A program has ended by itself, with this exit status."""

    shard: int
    status: int


class Lost(NamedTuple):
    """A program is gone that has not ended by itself: it was killed, or its machine is gone.

    Args:
        how: a sentence without its full stop.
    """

    shard: int
    how: str


Event = Said | Ended | Lost


class Machines(Protocol):
    """Places for programs, one in each.

    Attributes:
        path: where programs find modules first; empty if that is what their machine has installed.
        heard: what there is to tell; whoever takes it away may be interrupted, and loses nothing.
    """

    path: tuple[str, ...]
    heard: deque[Event]

    def __len__(self) -> int:
        """Count the places that there are now, free or not."""

    def __str__(self) -> str:
        """Say what they are: "2 processes of this machine"."""

    def start(self, shard: int, program: Program) -> None:
        """Run a program in a free place; whatever comes of it is told under this number."""

    def wait(self, timeout_s: float) -> None:
        """Wait until there is something to tell, or the time is over."""

    def stop(self) -> None:
        """Ask all programs to end."""

    def kill(self) -> None:
        """End all programs, and speak of them no more."""

    def close(self) -> None:
        """End all programs, and let go of the machines."""
