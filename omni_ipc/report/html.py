"""A trace as one page: lanes, arrows, values; it needs nothing beside itself, and no network.

The page is whole without its script, which adds the arrows, the pane with a step's details, and the keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from omni_ipc.explanations import Explanation, in_words, whose_value
from omni_ipc.records import Access, MemoryOrder, Origin, Step, Trace, write_atomically
from omni_ipc.report.graph import wait_for_graph
from omni_ipc.report.rows import Gap, Row, is_region, rows_of
from omni_ipc.report.templates import template

_GOLDEN_ANGLE = 137.5  # between the hues of neighbouring lanes
_FIRST_HUE = 215.0


def page(explanation: Explanation, *, command: str | None) -> str:
    """Write the page of an explained trace.

    Args:
        command: replays the trace, in a shell.
    """
    trace = explanation.trace
    shown = dict.fromkeys(row.step.task for row in rows_of(explanation, full=False) if isinstance(row, Row))
    tasks = list(dict.fromkeys([*shown, *(step.task for step in trace.steps)]))
    steps = _steps(explanation, tasks)
    return template("page.html.j2").render(
        trace=trace,
        badge=trace.failure.kind.value if trace.failure else trace.claim or "ended well",
        tone="" if trace.failure or trace.claim else "calm",
        facts=list(_facts(trace)),
        lanes=[_lane(task, place, is_idle=task not in shown) for place, task in enumerate(tasks)],
        story=explanation.story,
        command=command,
        steps=steps,
        rows=list(_rows(explanation, steps, tasks)),
        failure=trace.failure,
        names=explanation.names,
        switches={step.switch.why.value for step in trace.steps if step.switch is not None},
        graph=wait_for_graph(trace.failure.waits) if trace.failure else None,
    )


def _lane(task: str, place: int, *, is_idle: bool) -> dict[str, Any]:
    return {"name": task, "hue": (_FIRST_HUE + place * _GOLDEN_ANGLE) % 360, "idle": is_idle}


def write_page(explanation: Explanation, path: Path, *, command: str | None) -> Path:
    """Write the page of an explained trace to a file.

    Raises:
        UsageError: it cannot be written.
    """
    return write_atomically(path, page(explanation, command=command).encode("utf-8", "replace"))


def _facts(trace: Trace) -> Iterator[str]:
    if trace.defect:
        yield f"with the defect {trace.defect}"
    if trace.origin is Origin.MODEL:
        yield f"TLC's counterexample{f' in {trace.model}' if trace.model else ''}"
    if trace.strategy is not None and trace.schedule is not None:
        yield f"found by {trace.strategy}, schedule {trace.schedule:,}"
    if trace.memory is not MemoryOrder.SC:
        yield f"under {trace.memory.in_words}"
    if trace.instrument:
        yield f"instrumented: {', '.join(trace.instrument)}"
    if trace.faults:
        yield f"possible: {in_words(trace.faults)}"


def _rows(
    explanation: Explanation, steps: Sequence[Mapping[str, Any]], tasks: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Give all steps, and between those that matter, the counts of the others."""
    next_index = 0
    for row in rows_of(explanation, full=False):
        if isinstance(row, Gap):
            yield {"gap": [row.counts.get(task, 0) for task in tasks]}
        else:
            yield from ({**steps[index], "matters": False} for index in range(next_index, row.number - 1))
            yield {**steps[row.number - 1], "matters": True, "reason": row.reason}
            next_index = row.number
    yield from ({**steps[index], "matters": False} for index in range(next_index, len(steps)))


def _steps(explanation: Explanation, tasks: Sequence[str]) -> list[dict[str, Any]]:
    partners: dict[int, list[int]] = defaultdict(list)
    for conflict in explanation.conflicts:
        partners[conflict.earlier].append(conflict.later)
        partners[conflict.later].append(conflict.earlier)
    values: dict[str, str | None] = {}
    rows = (row for row in rows_of(explanation, full=True) if isinstance(row, Row))
    return [_step(row, tasks.index(row.step.task), partners[row.number - 1], values) for row in rows]


def _step(row: Row, lane: int, partners: Sequence[int], values: dict[str, str | None]) -> dict[str, Any]:
    """Give what the page tells of a step, and take note of the values that it left behind."""
    step = row.step
    accesses = [_access(step, access, values) for access in step.accesses]
    values.update({whose_value(step, access): access.value for access in step.accesses})
    return {
        "index": row.number - 1,
        "number": row.number,
        "task": step.task,
        "lane": lane,
        "action": step.action,
        "fields": _fields(step),
        "region": is_region(step),
        "place": step.where.partition(" in ")[0] if step.where else None,
        "where": step.where,
        "expired": step.expired,
        "time": step.time,
        "switch": None if step.switch is None else msgspec.to_builtins(step.switch) | {"over": step.switch.over},
        "others": step.others or (),
        "accesses": accesses,
        "changes": row.changes,
        "values": row.values,
        "partners": sorted(set(partners)),
        "reason": row.reason,
        "cause": row.is_cause,
        "last": row.is_last,
        "gap": None,
    }


def _access(step: Step, access: Access, values: Mapping[str, str | None]) -> dict[str, Any]:
    whole = whose_value(step, access)
    told = msgspec.structs.asdict(access) | {"before": values.get(whole)}
    return told | {"whole": None if whole == access.target else whole}


def _fields(step: Step) -> str:
    return ", ".join(f"{name}={value}" for name, value in step.fields.items())
