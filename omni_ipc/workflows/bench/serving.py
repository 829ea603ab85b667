"""The output path against the old way of doing it: what a request costs beyond its forward, in one run, in turn."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from omni_ipc.workflows.bench import serving_goals
from omni_ipc.workflows.bench.child import Child
from omni_ipc.workflows.bench.goals import Verdict, judge
from omni_ipc.workflows.bench.measures import Found
from omni_ipc.workflows.bench.pairs import scratch
from omni_ipc.workflows.bench.rows import Results
from omni_ipc.workflows.bench.served import Command, Want
from omni_ipc.workflows.bench.server import Case
from omni_ipc.workflows.bench.serving_goals import BATCHES, FRESH, NOTHING_BYTES, OURS, SIZES, batch_name
from omni_ipc.workflows.bench.transport import Progress

_MODULE = "omni_ipc.workflows.bench.served"
_START_S = 60.0
_PATIENCE_S = 120.0  # beyond the seconds of a measurement: a batch of 32 fresh segments of 32 MiB takes many


class Entry(NamedTuple):
    """A server, and where it is: "module:class" in `servers`."""

    name: str
    path: str


class Plan(NamedTuple):
    """How long to measure."""

    total_s: float  # no repetition begins that would not end by then
    case_s: float
    batches: Sequence[int] = BATCHES
    sizes: Sequence[int] = SIZES


QUICK = Plan(total_s=45, case_s=0.3)
FULL = Plan(total_s=300, case_s=1.0)

SERVERS = (Entry(OURS, "ours:Ours"), Entry(FRESH, "fresh_segments:FreshSegments"))


@dataclass(frozen=True)
class ServingComparison:
    """What a run gave."""

    results: Results
    verdicts: list[Verdict]
    left_out: dict[str, str]  # server, or server and case → why
    repetitions: int
    seconds: float


class _Task(NamedTuple):
    entry: Entry
    want: Want
    batch: int
    nbytes: int

    @property
    def work(self) -> str:
        return "null" if self.want is Want.REQUESTS else batch_name(self.batch)

    @property
    def name(self) -> str:
        return f"{self.entry.name}, {self.want}, {self.work}, {self.nbytes:,} B"


def compare(plan: Plan, *, servers: Sequence[Entry] = SERVERS, progress: Progress) -> ServingComparison:
    """Measure every server again and again, in turn, so that what changes on the machine meets them all.

    Args:
        plan: how long, and what.
        servers: what to compare.
        progress: called with the name of what is measured, how many were, and how many there are.
    """
    results, left_out, begun = Results(), dict[str, str](), time.monotonic()
    with scratch() as folder, contextlib.ExitStack() as processes:
        started: dict[str, Child] = {}
        for entry in servers:
            started[entry.path] = Child([sys.executable, "-m", _MODULE, entry.path])
            processes.callback(started[entry.path].end)
        there = [entry for entry in servers if _is_there(entry, started, left_out)]
        tasks = list(_tasks(there, plan))
        repetitions, longest = 0, 0.0
        while repetitions == 0 or time.monotonic() - begun + longest < plan.total_s:
            repetition_begun = time.monotonic()
            for number, task in enumerate(tasks):
                progress(f"repetition {repetitions + 1}: {task.name}", number, len(tasks))
                if task.name not in left_out:
                    _measure(task, started[task.entry.path], folder, plan.case_s, results, left_out)
            repetitions += 1
            longest = max(longest, time.monotonic() - repetition_begun)
    verdicts = judge(serving_goals.GOALS, results)
    return ServingComparison(results, verdicts, left_out, repetitions, time.monotonic() - begun)


def _is_there(entry: Entry, started: dict[str, Child], left_out: dict[str, str]) -> bool:
    if reason := _found(started[entry.path].read(_START_S)).reason:
        left_out[entry.name] = reason
    return not reason


def _tasks(entries: Sequence[Entry], plan: Plan) -> Iterator[_Task]:
    """Say what a repetition measures: both ways next to each other."""
    for nbytes in plan.sizes:
        for batch in plan.batches:
            yield from (_Task(entry, Want.OVERHEAD, batch, nbytes) for entry in entries)
        yield from (_Task(entry, Want.COPIES, plan.batches[0], nbytes) for entry in entries)
    yield from (_Task(entry, Want.REQUESTS, max(plan.batches), NOTHING_BYTES) for entry in entries)


def _measure(
    task: _Task, process: Child, folder: str, seconds: float, results: Results, left_out: dict[str, str]
) -> None:
    process.write(msgspec.json.encode(Command(task.want, Case(task.batch, task.nbytes, folder), seconds)))
    found = _found(process.read(seconds + _PATIENCE_S))
    if found.reason:
        left_out[task.name] = found.reason
    results.add(task.entry.name, task.work, task.nbytes, found.values)


def _found(line: bytes) -> Found:
    return msgspec.json.decode(line, type=Found) if line else Found(reason="its process died, or hangs")
