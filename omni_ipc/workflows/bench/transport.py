"""The transport against what else carries bytes between two processes: all of them in one run, in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from omni_ipc.workflows.bench import goals, pairs
from omni_ipc.workflows.bench.goals import Verdict
from omni_ipc.workflows.bench.measures import Measure
from omni_ipc.workflows.bench.pairs import Pair
from omni_ipc.workflows.bench.rows import Results
from omni_ipc.workflows.bench.subject import Case, Work

SIZES = (64, 1 << 10, 64 << 10, 1 << 20, 8 << 20, 32 << 20)

Progress = Callable[[str, int, int | None], object]


class Entry(NamedTuple):
    """A subject, and what is measured of it."""

    name: str
    path: str  # "module:class" in `subjects`
    works: tuple[Work, ...]
    measures: tuple[Measure, ...]
    missing: str = ""  # the command that brings what it needs


class Plan(NamedTuple):
    """How long to measure."""

    total_s: float  # no repetition begins that would not end by then
    case_s: float
    idle_s: float


QUICK = Plan(total_s=40, case_s=0.04, idle_s=1.0)
FULL = Plan(total_s=300, case_s=0.25, idle_s=5.0)


@dataclass(frozen=True)
class Comparison:
    """What a run gave."""

    results: Results
    verdicts: list[Verdict]
    left_out: dict[str, str]  # subject, or subject and work → why
    repetitions: int
    seconds: float


class _Task(NamedTuple):
    entry: Entry
    measure: Measure
    work: Work
    size_bytes: int

    @property
    def name(self) -> str:
        return f"{self.entry.name}, {self.work}"


_KERNEL = (Measure.LATENCY, Measure.RATE, Measure.IDLE)
_POLLING = (Measure.LATENCY, Measure.RATE)
_OURS = (Work.COPY, Work.VIEW, Work.TREE, Work.LOAN, Work.BATCH)
_BENCH, _TORCH = "pip install 'omni-ipc[bench]'", "pip install 'omni-ipc[torch]'"

SUBJECTS = (
    Entry(goals.SPINNING, "ours:Spinning", _OURS, _POLLING),
    Entry(goals.PARKED, "ours:Parked", _OURS, _KERNEL),
    Entry("iceoryx2, polling", "iceoryx:Iceoryx", (Work.COPY, Work.LOAN), _POLLING, _BENCH),
    Entry(goals.PIPE, "pipe:Pipe", (Work.COPY,), _KERNEL),
    Entry("multiprocessing.Queue", "mp_queue:MpQueue", (Work.COPY,), _KERNEL),
    Entry("pyzmq PUSH/PULL", "zeromq:PushPull", (Work.COPY,), _KERNEL, _BENCH),
    Entry("vLLM MessageQueue", "vllm_queue:VllmQueue", (Work.COPY,), _KERNEL, "pip install vllm"),
    Entry(goals.FRESH, "fresh_segment:FreshSegment", (Work.VIEW,), (Measure.LATENCY,)),
    Entry("torch.multiprocessing", "torch_queue:TorchQueue", (Work.VIEW,), (Measure.LATENCY,), _TORCH),
    Entry("limit: flag spin", "limits:Flag", (Work.SPIN,), (Measure.LATENCY,)),
    Entry(goals.MEMCPY, "limits:Memcpy", (Work.COPY,), (Measure.ALONE,)),
    Entry(goals.SEAM, "seam:Seam", (Work.REGION, Work.LOCK), (Measure.ALONE,)),
)


def compare(
    plan: Plan,
    *,
    subjects: Sequence[Entry] = SUBJECTS,
    sizes: Sequence[int] = SIZES,
    progress: Progress,
) -> Comparison:
    """Measure every subject again and again, in turn, so that what changes on the machine meets them all.

    Args:
        plan: how long.
        subjects: what to compare.
        sizes: of messages, in bytes.
        progress: called with the name of what is measured, how many were, and how many there are.
    """
    results, left_out, begun = Results(), dict[str, str](), time.monotonic()
    with pairs.scratch() as scratch, pairs.started([entry.path for entry in subjects]) as started:
        there: list[Entry] = []
        for entry in subjects:
            progress(f"starting {entry.name}", len(there), len(subjects))
            if reason := started[entry.path].started().reason:
                left_out[entry.name] = f"{reason}. {entry.missing}".strip()
            else:
                there.append(entry)
        run = _Run(results, left_out, started, scratch)
        tasks = [task for entry in there for task in _tasks(entry, sizes)]
        repetitions = run.repeat(tasks, begun + plan.total_s, plan.case_s, progress)
        progress("idle readers", len(tasks), len(tasks))
        run.idle(there, plan.idle_s)
    return Comparison(results, goals.judge(goals.GOALS, results), left_out, repetitions, time.monotonic() - begun)


class _Run:
    def __init__(self, results: Results, left_out: dict[str, str], started: dict[str, Pair], scratch: str) -> None:
        self._results = results
        self._left_out = left_out
        self._started = started
        self._scratch = scratch

    def idle(self, entries: Sequence[Entry], seconds: float) -> None:
        """Let all readers that can wait do so at once: they are to use nothing."""
        tasks = [_Task(entry, Measure.IDLE, Work.COPY, SIZES[0]) for entry in entries if Measure.IDLE in entry.measures]
        for task in tasks:
            self._ask(task, seconds)
        for task in tasks:
            self._take(task)

    def repeat(self, tasks: Sequence[_Task], end: float, seconds: float, progress: Progress) -> int:
        """Do all of it, as often as the time allows, and tell how often that was."""
        repetitions, longest = 0, 0.0
        while repetitions == 0 or time.monotonic() + longest < end:
            begun = time.monotonic()
            for number, task in enumerate(tasks):
                progress(f"repetition {repetitions + 1}: {task.name}", number, len(tasks))
                if task.name not in self._left_out:
                    self._ask(task, seconds)
                    self._take(task)
            repetitions += 1
            longest = max(longest, time.monotonic() - begun)
        return repetitions

    def _ask(self, task: _Task, seconds: float) -> None:
        case = Case(task.work, task.size_bytes, self._scratch)
        self._started[task.entry.path].ask(task.measure, case, seconds)

    def _take(self, task: _Task) -> None:
        found = self._started[task.entry.path].answer()
        if found.reason:
            self._left_out[task.name] = f"{task.measure} at {task.size_bytes} B: {found.reason}"
        self._results.add(task.entry.name, task.work, task.size_bytes, found.values)


def _tasks(entry: Entry, sizes: Sequence[int]) -> Iterator[_Task]:
    """Say what a repetition measures of a subject."""
    for work in entry.works:
        if Measure.RATE in entry.measures and work in (Work.COPY, Work.BATCH):
            yield _Task(entry, Measure.RATE, work, sizes[0])
        if Measure.ALONE in entry.measures:
            yield from (_Task(entry, Measure.ALONE, work, size) for size in (sizes if work is Work.COPY else (0,)))
        if Measure.LATENCY in entry.measures and work is not Work.BATCH:
            of_work = sizes[:1] if work is Work.SPIN else sizes
            yield from (_Task(entry, Measure.LATENCY, work, size) for size in of_work)
