"""A trace for Perfetto's viewer (ui.perfetto.dev): tasks as threads, steps as slices, switches and wake-ups as arrows.

Source: "Trace Event Format", the JSON that Chrome's and Perfetto's viewers read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from omni_ipc.explanations import Explanation
from omni_ipc.records import Step, write_atomically

_STEP_US = 1_000  # a step has no duration: all are shown as equally long
_SLICE_US = 900
_PROCESS = 1


def events(explanation: Explanation) -> dict[str, Any]:
    """Give the document for the viewer, ready to be encoded as JSON."""
    trace = explanation.trace
    tasks = {task: number for number, task in enumerate(dict.fromkeys(step.task for step in trace.steps), start=1)}
    return {
        "displayTimeUnit": "ms",
        "otherData": {"scenario": trace.scenario, "story": " ".join(explanation.story)},
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": _PROCESS, "args": {"name": trace.scenario}},
            *(_thread(task, number) for task, number in tasks.items()),
            *(_slice(k, step, tasks[step.task]) for k, step in enumerate(trace.steps)),
            *_switches(trace.steps, tasks),
            *_conflicts(explanation, tasks),
            *_end(explanation, tasks),
        ],
    }


def write_events(explanation: Explanation, path: Path) -> Path:
    """Write an explained trace to a file for the viewer.

    Raises:
        UsageError: it cannot be written.
    """
    return write_atomically(path, msgspec.json.encode(events(explanation)))


def _thread(task: str, number: int) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": _PROCESS, "tid": number, "args": {"name": task}}


def _slice(index: int, step: Step, thread: int) -> dict[str, Any]:
    told = {name: str(value) for name, value in step.fields.items()}
    told |= {
        f"{'writes' if access.writes else 'reads'} {access.target}": access.value or "" for access in step.accesses
    }
    if step.where:
        told["where"] = step.where
    if step.switch is not None:
        told["why another task"] = step.switch.reason
    name = f"{step.action} (in vain)" if step.expired else step.action
    return _event("X", index, thread, name) | {"dur": _SLICE_US, "args": {"step": index + 1, **told}}


def _switches(steps: tuple[Step, ...], tasks: dict[str, int]) -> Iterator[dict[str, Any]]:
    for index, (before, step) in enumerate(itertools.pairwise(steps)):
        if before.task != step.task:
            why = step.switch.why.value if step.switch is not None else "switch"
            yield from _arrow(f"switch {index}", why, index, tasks[before.task], index + 1, tasks[step.task])


def _conflicts(explanation: Explanation, tasks: dict[str, int]) -> Iterator[dict[str, Any]]:
    steps = explanation.trace.steps
    for number, conflict in enumerate(explanation.conflicts):
        ends = (
            conflict.earlier,
            tasks[steps[conflict.earlier].task],
            conflict.later,
            tasks[steps[conflict.later].task],
        )
        yield from _arrow(f"conflict {number}", conflict.target, *ends)


def _arrow(key: str, name: str, begin: int, source: int, end: int, target: int) -> Iterator[dict[str, Any]]:
    yield _event("s", begin, source, name) | {"id": key, "cat": key.partition(" ")[0]}
    yield _event("f", end, target, name) | {"id": key, "cat": key.partition(" ")[0], "bp": "e"}


def _end(explanation: Explanation, tasks: dict[str, int]) -> Iterator[dict[str, Any]]:
    failure, steps = explanation.trace.failure, explanation.trace.steps
    if failure is not None and steps:
        thread = tasks.get(failure.task or "", tasks[steps[-1].task])
        yield _event("i", len(steps), thread, str(failure)) | {"s": "p"}


def _event(phase: str, index: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": phase, "ts": index * _STEP_US, "pid": _PROCESS, "tid": thread, "name": name}
