"""What a recording of real processes consists of: a file a process, a line for whatever happened there.

    Process                      who this is; the first line
    Memory, Watched              memory that a runtime shares with others; an object whose state is looked at
    Begun ... Ended              one region: behind the taking of its lock, before its giving back
    Closed                       the process came to its end, and what it did is all here

Times are nanoseconds of the machine's monotonic clock, common to all processes: between Begun and Ended the step
happened. The lines of each thread are numbered from 0 on, so that whoever kills the process can cost no line but the
last one of a thread; a number that is missing before another one is a gap. Thread 0 is the log's own.
"""

from __future__ import annotations

import msgspec

from omni_ipc.records import Field

RECORDING_VERSION = 1
SUFFIX = ".recording.jsonl"


class Process(msgspec.Struct, frozen=True, tag_field="kind", tag="process"):
    """A process, and the format of what follows."""

    thread: int
    number: int
    version: int
    pid: int
    parent: int
    command: str


class Memory(msgspec.Struct, frozen=True, tag_field="kind", tag="memory"):
    """A runtime uses words of memory that other processes may share.

    Args:
        runtime: which of the process's.
        inode: of the memory; the same in each process.
    """

    thread: int
    number: int
    runtime: int
    inode: int


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a field of an object has changed.

    Args:
        came: keys of a dict or members of a set that were not there before.
        gone: those that are there no longer.
        value: of anything else: itself, or its length, or whether there is any.
    """

    object: int
    field: str
    came: tuple[Field, ...] = ()
    gone: tuple[Field, ...] = ()
    value: Field | None = None

    def then(self, later: Change) -> Change:
        """Give what this one and a later one of the same field come to."""
        if self.value is not None or later.value is not None:
            return later
        came = (*(key for key in self.came if key not in later.gone), *(k for k in later.came if k not in self.gone))
        gone = (*(key for key in self.gone if key not in later.came), *(k for k in later.gone if k not in self.came))
        return Change(self.object, self.field, came, gone)


class Watched(msgspec.Struct, frozen=True, tag_field="kind", tag="watched"):
    """An object that was declared as shared; its state is told of from here on.

    Args:
        object: its number in this process.
        changes: from nothing to its first state.
    """

    thread: int
    number: int
    runtime: int
    object: int
    name: str
    changes: tuple[Change, ...] = ()


class Begun(msgspec.Struct, frozen=True, tag_field="kind", tag="begun", omit_defaults=True):
    """A task is inside a region, and has its lock.

    Args:
        thread: distinguishes tasks of the same name, one after another.
        step: the number of the region in this process.
    """

    thread: int
    number: int
    step: int
    time_ns: int
    runtime: int
    task: str
    action: str
    fields: dict[str, Field] = {}


class Ended(msgspec.Struct, frozen=True, tag_field="kind", tag="ended", omit_defaults=True):
    """The task is about to leave the region, and still has its lock.

    Args:
        error: the type of what it raised.
        looked: the objects under that lock.
        changes: of these, since somebody left a region of it.
    """

    thread: int
    number: int
    step: int
    time_ns: int
    error: str | None = None
    looked: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()


class Closed(msgspec.Struct, frozen=True, tag_field="kind", tag="closed"):
    """Nothing was left unsaid.

    Args:
        lines: how many there are at least, but for this one.
    """

    thread: int
    number: int
    lines: int


Line = Process | Memory | Watched | Begun | Ended | Closed
