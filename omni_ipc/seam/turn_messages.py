"""What the processes of a conducted run and their conductor say, a line of JSON each.

task ── Arrive ────► conductor (one for all processes)
task ◄── Go ──────── when it is this step's turn; for a wait with a limit: now its time is up
task ── Done ──────► the next step may go
task ── Withdrawn ─► a wait with a limit ended by itself
task ── Left ──────► it has ended, and will not come any more
     ◄── Flow ────── a process was killed: from now on time passes
     ◄── Free ────── the schedule is over, or cannot be followed: everybody runs on as it likes
"""

from __future__ import annotations

import msgspec

from omni_ipc.records import Field


class Arrive(msgspec.Struct, frozen=True, tag=True):
    """A task stands before a step, or waits for something with a limit.

    Args:
        until: that limit, on the clock of its process.
        beyond: the schedule does not speak of the step; the task asks because its process is to be killed.
    """

    ticket: int
    task: str
    action: str
    fields: dict[str, Field]
    where: str
    until: float | None = None
    beyond: bool = False


class Done(msgspec.Struct, frozen=True, tag=True):
    """The task has taken the step."""

    ticket: int


class Withdrawn(msgspec.Struct, frozen=True, tag=True):
    """The task waits no longer: what it waited for has come."""

    ticket: int


class Left(msgspec.Struct, frozen=True, tag=True):
    """The task has ended."""

    task: str


Said = Arrive | Done | Withdrawn | Left
"""What a process tells the conductor."""


class Go(msgspec.Struct, frozen=True, tag=True):
    """The task may take the step; or the time of its wait is up.

    Args:
        time: seconds that have passed since the run began, at the least.
    """

    ticket: int
    time: float = 0.0


class Flow(msgspec.Struct, frozen=True, tag=True):
    """Time passes as it does, so that who looks for the dead now and then will find them; turns are kept."""


class Free(msgspec.Struct, frozen=True, tag=True):
    """Nobody waits any more, and time passes as it does."""


Heard = Go | Flow | Free
"""What the conductor tells a process."""


def is_region(action: str) -> bool:
    """Tell whether a step is a region, by its name: those of what happens between regions begin small."""
    return "A" <= action[0] <= "Z"
