"""What the rooms tell each other: steps, traces, failures and reports; versioned, to and from JSON.

A trace is a list of semantic steps (task, action, fields), not of opcodes or line numbers: a counterexample of TLC, a
failure that the explorer found and a recording of real processes are the same thing, and survive a refactoring.
"""

from __future__ import annotations

import codecs
import contextlib
import enum
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.inputs import read_file

TRACE_VERSION = 1

Field = str | int | bool
"""A field of a region or step: small, comparable, the same in code, spec and trace."""

Action = Annotated[str, msgspec.Meta(min_length=1)]
"""What a step does: a region's name ("Pump.Deliver"), or a primitive operation ("queue.get")."""


class Verdict(enum.StrEnum):
    """What an exploration or a replay may say, and nothing beyond it."""

    HOLDS = "holds"  # every schedule was run, under control, and none failed
    BOUNDED = "bounded"  # none failed among those run; the bound is told
    VIOLATED = "violated"  # at least one failed; it is told which
    ENDED_WELL = "ended well"  # a replay ran to its end, and nothing failed: one schedule, no more
    DIVERGED = "diverged"  # a replay left the trace on the code that it was recorded on; it is told where
    INCONCLUSIVE = "inconclusive"  # something was not under control; it is told what

    @property
    def exit_code(self) -> int:
        """Exit code of a command with this verdict: 0 as claimed, 1 violated or diverged, 3 inconclusive."""
        return {Verdict.VIOLATED: 1, Verdict.DIVERGED: 1, Verdict.INCONCLUSIVE: 3}.get(self, 0)


class MemoryOrder(enum.StrEnum):
    """When other tasks see what a task has stored in shared words; each order allows all that those above it do."""

    SC = "sc"  # at once: sequential consistency
    TSO = "tso"  # late, but in order: x86-64
    RELEASE = "release"  # late; a word's store after all before it, bytes in any order: what `rt.words` promises
    WEAK = "weak"  # late, and in any order: what AArch64 does where nothing is fenced

    @property
    def in_words(self) -> str:
        """Its name in a sentence: "under TSO"."""
        titles = {"sc": "sequential consistency", "tso": "TSO", "release": "release stores", "weak": "weak memory"}
        return titles[self.value]


class Origin(enum.StrEnum):
    """Where a trace comes from, and so how complete it is."""

    MODEL = "model"  # TLC's counterexample: only the model's actions; the code may have steps between them
    EXPLORED = "explored"  # every step that the code took


class FailureKind(enum.StrEnum):
    """The ways in which a schedule can fail."""

    EXCEPTION = "exception"  # a task, or the scenario itself, raised
    DEADLOCK = "deadlock"  # tasks wait for each other
    LOST_WAKEUP = "lost wake-up"  # a task waits, and nobody is left to wake it
    LIVELOCK = "livelock"  # the schedule does not end
    UNGUARDED = "unguarded access"  # shared state was touched without its lock
    LEAK = "leak"  # a task outlived the scenario, or what must be released exactly once was not
    DIVERGENCE = "divergence"  # code and model differ: in what they can do, or in what comes of it


class Access(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a step did to something that another task uses, too, and that one of them changes."""

    target: str  # "queue1", "Counter.value", "words1[3]"
    writes: bool = False
    value: str | None = None  # after the step, as text, if the target can show it
    called: str | None = None  # what the code of the task calls the object: "Pump._early" for "dict4[7]"


class Why(enum.StrEnum):
    """Why the task that took the step before did not take the next one, too."""

    PREEMPTED = "preempted"  # it could have gone on: a choice
    BLOCKED = "blocked"
    ENDED = "ended"


class Switch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Another task goes on."""

    why: Why
    reason: str  # in words: "'pump' waits for lock1, which 'main' holds"
    over: str | None = None  # the task that the default order would have let go on, if that is another one


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step of one task; what follows ``where`` is known only of schedules that were recorded."""

    task: str
    action: Action
    fields: dict[str, Field] = {}
    where: str | None = None  # "outputs.py:88 in deliver"
    state: dict[str, Any] | None = None  # after the step; values as in ITF ("#set", "#map", "#tup")
    accesses: tuple[Access, ...] = ()
    switch: Switch | None = None
    others: tuple[str, ...] | None = None  # the other tasks that could have taken a step instead
    expired: bool = False  # it was not possible, and its time limit had passed
    time: float | None = None  # virtual seconds since the run began, if time has passed before it

    def fits(self, action: str, fields: Mapping[str, Field]) -> bool:
        """Tell whether an operation is this step: the same action, and no field that both name differs."""
        common = self.fields.keys() & fields.keys()
        return self.action == action and all(self.fields[name] == fields[name] for name in common)

    def __str__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in self.fields.items())
        return f"{self.task}: {self.action}({fields})"


class Wait(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task that cannot go on: an edge of the wait-for graph."""

    task: str
    target: str  # "lock1", "a notification of condition1"
    held_by: str | None = None  # the one task that could end the wait
    held_by_ended: bool = False
    until: float | None = None  # virtual seconds, if it has a time limit
    where: str | None = None
    state: str | None = None  # of the target, if no one task could end the wait: "is full"


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """What went wrong in a schedule."""

    kind: FailureKind
    message: str
    task: str | None = None
    where: str | None = None
    details: tuple[str, ...] = ()  # one line each: who waits for what, tracebacks
    waits: tuple[Wait, ...] = ()  # of all tasks that could not go on, by age

    def __str__(self) -> str:
        place = f" (task {self.task}{f', {self.where}' if self.where else ''})" if self.task else ""
        return f"{self.kind.value}: {self.message}{place}"


class Cause(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two steps of different tasks, on something that both use: in the other order, it did not fail."""

    first: int  # index of the step
    second: int  # of `Trace.pending`, if it is not below the number of steps
    target: str
    jointly: bool = False  # only with the other causes in the other order, too


class Trace(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="format", tag="omni-ipc-trace"):
    """One schedule, step by step, and what came of it."""

    version: int
    scenario: str
    origin: Origin
    steps: tuple[Step, ...]
    defect: str | None = None
    model: str | None = None  # the manifest's name of the model that gave it
    claim: str | None = None  # the property that it violates
    initial: dict[str, Any] | None = None  # the model's state before the first step
    failure: Failure | None = None
    memory: MemoryOrder = MemoryOrder.SC  # that it was explored under
    instrument: tuple[str, ...] = ()  # modules whose shared state it has points at
    points: tuple[str, ...] = ()  # accesses to shared state that are steps in it: "vendor.pump:Pump.put field _free"
    strategy: str | None = None  # that found it: "random walk, seed 7"
    schedule: int | None = None  # its number among those that the strategy ran
    faults: tuple[str, ...] = ()  # that were possible in it: "kill:worker", "timers"
    pending: tuple[Step, ...] = ()  # what each living task would have done next when it failed
    causes: tuple[Cause, ...] = ()  # of the failure, found by experiment

    def save(self, path: Path) -> Path:
        """Write the trace as JSON, a line for each step, wholly or not at all."""
        return write_atomically(path, _lines(msgspec.to_builtins(self)))

    @classmethod
    def load(cls, path: Path) -> Trace:
        """Read a trace.

        Raises:
            UsageError: the file cannot be read, is no regular one, empty, truncated, no trace, or of another version.
        """
        try:
            data = read_file(path).removeprefix(codecs.BOM_UTF8)  # some editors write one
        except OSError as error:
            raise UsageError(
                f"Cannot read the trace '{path}': {error.strerror}. Give the path of a *.trace.json file."
            ) from None
        if not data.strip():
            raise UsageError(f"The trace '{path}' is empty. Make it anew: omni-ipc explore SCENARIO --save DIR.")
        if data.strip()[:1] != b"{":
            raise UsageError(f"'{path}' is no trace: it is no JSON object. Give the path of a *.trace.json file.")
        try:
            header = msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            raise UsageError(f"The trace '{path}' is not whole JSON ({error}). Restore it, or make it anew.") from None
        if header.get("format") != "omni-ipc-trace":
            raise UsageError(
                f'\'{path}\' is no trace: it is JSON, and lacks "format": "omni-ipc-trace". Give the path of a '
                "*.trace.json file."
            )
        if header.get("version") != TRACE_VERSION:
            raise UsageError(
                f"The trace '{path}' has version {header.get('version')!r}; this omni-ipc reads version "
                f"{TRACE_VERSION}. Replay it with the omni-ipc that wrote it, or make it anew."
            )
        try:
            trace = msgspec.convert(header, cls)
        except msgspec.ValidationError as error:
            raise UsageError(f"The trace '{path}' is damaged: {error}. Restore it, or make it anew.") from None
        steps = range(len(trace.steps) + len(trace.pending))
        if any(cause.first not in steps or cause.second not in steps for cause in trace.causes):
            raise UsageError(
                f"The trace '{path}' is damaged: its 'causes' are about steps that it lacks. Restore it, or make it "
                "anew; of a trace that was cut on purpose, take 'causes' away, too."
            )
        return trace


class Report(msgspec.Struct, frozen=True):
    """What an exploration found."""

    scenario: str
    verdict: Verdict
    reason: str  # what the verdict rests on: "all 252 schedules", "2,000 runs of random walk, seed 0"
    strategy: str
    schedules: int  # runs from the start of the scenario to its end or to a prune
    steps: int  # steps of all schedules together
    traces: int  # distinct orders of conflicting steps seen to the end
    seconds: float
    outcomes: tuple[str, ...] = ()  # the distinct values that the scenario returned, as text
    failure: Failure | None = None
    trace: Trace | None = None  # of the failure, shrunk
    memory: MemoryOrder = MemoryOrder.SC
    searched_s: float = 0.0  # of the seconds, those until the failing schedule: the others confirm, shrink and explain
    notes: tuple[str, ...] = ()  # what else there is to tell, a sentence each: only one task ran, ...
    begun_anew: int = 0  # schedules more, before the points were known that the others have


def _lines(document: Mapping[str, Any]) -> bytes:
    """Encode so that people can compare: one line for each key, and one for each item of a list or of a record."""
    rows = [f'"{key}": {_item(value)}' for key, value in document.items()]
    return "{{\n {}\n}}\n".format(",\n ".join(rows)).encode("utf-8", "replace")


def _item(value: Any) -> str:
    match value:
        case [_, *_]:
            return "[\n  {}\n ]".format(",\n  ".join(_line(item) for item in value))
        case dict() if value:
            return "{{\n  {}\n }}".format(",\n  ".join(f"{_line(key)}: {_line(item)}" for key, item in value.items()))
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def write_atomically(path: Path, data: bytes) -> Path:
    """Write a file wholly or not at all; missing folders are made.

    Raises:
        UsageError: it cannot be written (full disk, no permission, ...); nothing half-written stays behind.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    temporary = None
    try:
        if target.exists() and not target.is_file():
            raise UsageError(f"Cannot write '{path}': it is no regular file. Choose another path.")
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        raise UsageError(
            f"Cannot write '{path}': {error.strerror}. Free some space there, or choose another folder."
        ) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
    return path
