"""Finds out why a run cannot go on, and says it: who waits for what, who holds it, and where."""

from __future__ import annotations

import re
import traceback
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from omni_ipc.errors import Inconclusive
from omni_ipc.records import Failure, FailureKind, Wait
from omni_ipc.testbed.asserted import failed_assertion
from omni_ipc.testbed.brief import say_error
from omni_ipc.testbed.operations import always
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.where import from_here, is_between, is_stdlib, locate, locate_error

if TYPE_CHECKING:
    from omni_ipc.testbed.kernel import Kernel

_NUMBER = re.compile(r"\d+(\.\d+)?")


def describe_error(task: Task, error: BaseException) -> Failure:
    """Describe an exception that ended a task."""
    shown = _shown(error.__traceback__)
    lines = [line.rstrip() for line in traceback.format_list(_from_here(summary) for summary, _ in shown)]
    claim = ""
    if shown and (asserted := failed_assertion(error, shown[-1][1], shown[-1][0].lineno or 0)):
        claim = f": {asserted.claim}"
        lines += [f"    {value}" for value in asserted.values()]
    return Failure(
        kind=FailureKind.EXCEPTION,
        message=say_error(error) + claim,
        task=task.name,
        where=locate_error(error.__traceback__),
        details=tuple(lines),
    )


def _shown(trace: TracebackType | None) -> list[tuple[traceback.FrameSummary, FrameType]]:
    """Give the frames of a traceback that are of the code under test, or of what it called, if there are none."""
    both = zip(traceback.extract_tb(trace), (frame for frame, _ in traceback.walk_tb(trace)), strict=False)
    frames = [(summary, frame) for summary, frame in both if not is_between(frame)]
    return [(summary, frame) for summary, frame in frames if not is_stdlib(summary.filename)] or frames


def _from_here(frame: traceback.FrameSummary) -> traceback.FrameSummary:
    frame.filename = from_here(frame.filename)
    return frame


def find_cycle(task: Task) -> Failure | None:
    """Follow who waits for whom from a task that cannot go on; a way back to it is a deadlock.

    A task that waits for a plain lock of its own is no cycle yet, nor is one of locks that were taken by ``acquire()``:
    another task may release them.
    """
    holder = None if task.pending is None else task.pending.holder()
    if holder is None or holder.ready is always or _holder(holder) is None:
        return None  # as most often: a chain is put together only if it has links
    chain = _chain(task, certain=True)
    if len(chain) < 3 or chain[-1] is not task:
        return None
    return _deadlock(chain[:-1])


def describe_stuck(kernel: Kernel) -> Failure | None:
    """Describe a run in which nobody can go on, or only pollers can, for nothing; None if only daemons are left."""
    waiting = [task for task in kernel.living if task.deadline is None]
    for task in waiting:
        chain = _chain(task)
        cycle = chain[chain.index(chain[-1]) : -1]
        if len(cycle) > 1 or (cycle and _is_certain(cycle[0])):
            return _deadlock(cycle)
    if kernel.tasks[0].ended:
        left = [task for task in kernel.living if not task.daemon]
        return _stuck(FailureKind.LEAK, left, "outlived the scenario", kernel) if left else None
    if waiting:
        # The last of each chain that still waits: what it waits for may be held by one that has ended.
        ends = {id(end): end for task in waiting for end in [link for link in _chain(task) if link in waiting][-1:]}
        return _stuck(FailureKind.LOST_WAKEUP, list(ends.values()), "and nobody is left to wake it", kernel)
    return _stuck(FailureKind.LIVELOCK, kernel.living, "time and again, and nothing else will ever happen", kernel)


def describe_livelock(kernel: Kernel) -> Failure:
    """Describe a run in which all go on, and nobody gets anywhere."""
    return Failure(
        kind=FailureKind.LIVELOCK,
        message="the run goes round in circles: its state comes back, though everybody goes on who can; let loops wait "
        "for what they need",
        task=kernel.last.name,
        where=place(kernel.last),
        details=tuple(_line(task) for task in kernel.living),
    )


def describe_clock_loop(task: Task) -> Failure:
    """Describe a step that reads the clock over and over."""
    return Failure(
        kind=FailureKind.LIVELOCK,
        message=f"task '{task.name}' reads the clock until it moves, and it moves only while all tasks wait; "
        "wait with rt.sleep() in the loop",
        task=task.name,
        where=locate(task.frame()),
    )


def describe_stubborn(task: Task) -> Inconclusive:
    """Describe a task that goes on, time and again, after it was told to end."""
    return Inconclusive(
        f"Task '{task.name}' goes on after its run has ended ({locate(task.frame())}): it catches BaseException. "
        "Catch Exception there, or raise again what you do not know."
    )


def unrepeatable(what: str) -> Inconclusive:
    """Describe a schedule that does not do the same thing twice."""
    return Inconclusive(
        f"Uncontrolled nondeterminism: {what}. Look for time, randomness, id(), or state kept between runs."
    )


def shape(failure: Failure) -> tuple[FailureKind, str]:
    """Return what two failures must share to count as the same one: kind and message, but for numbers."""
    return failure.kind, _NUMBER.sub("#", failure.message)


def _stuck(kind: FailureKind, tasks: list[Task], why: str, kernel: Kernel) -> Failure:
    first = tasks[0]
    others = f" (and so {'do' if len(tasks) > 2 else 'does'} {_names(tasks[1:])})" if len(tasks) > 1 else ""
    if kind is FailureKind.LEAK:
        message = f"{_names(tasks)} {why}: {_names([first])} waits for {_reason(first)}{others}"
    else:
        message = f"{_names([first])} waits for {_reason(first)}{others}, {why}"
    return Failure(
        kind=kind,
        message=message,
        task=first.name,
        where=place(first),
        details=tuple(_line(task) for task in kernel.living),
        waits=_waits(kernel.living),
    )


def _deadlock(cycle: list[Task]) -> Failure:
    oldest = min(range(len(cycle)), key=lambda place: cycle[place].index)
    cycle = cycle[oldest:] + cycle[:oldest]  # the same text, whoever closed it
    return Failure(
        kind=FailureKind.DEADLOCK,
        message="; ".join(f"'{task.name}' waits for {_reason(task)}" for task in cycle),
        task=cycle[0].name,
        where=place(cycle[0]),
        details=tuple(_line(task) for task in cycle),
        waits=_waits(cycle),
    )


def _waits(tasks: list[Task]) -> tuple[Wait, ...]:
    """Give the edges of the wait-for graph that begin at these tasks."""
    return tuple(_wait(task) for task in tasks if task.pending is not None and not task.ready())


def _wait(task: Task) -> Wait:
    holder = None if task.pending is None else task.pending.holder()
    target, _, state = _reason(task).partition(", which ")
    return Wait(
        task=task.name,
        target=target,
        state=state if holder is None and state else None,
        held_by=None if holder is None else holder.name,
        held_by_ended=holder is not None and holder.ended,
        until=task.deadline,
        where=place(task),
    )


def _is_certain(task: Task) -> bool:
    """Tell whether nobody but the holder of what the task waits for can ever end its wait."""
    return task.pending is not None and task.pending.exclusive


def _chain(task: Task, *, certain: bool = False) -> list[Task]:
    """Follow the waits that one task alone can end; the last item repeats an earlier one if there is a cycle."""
    chain = [task]
    while (holder := _holder(chain[-1])) is not None and (not certain or _is_certain(chain[-1])):
        chain.append(holder)
        if holder in chain[:-1]:
            break
    return chain


def _holder(task: Task) -> Task | None:
    operation = task.pending
    if task.ended or operation is None or task.deadline is not None or task.ready():
        return None
    return operation.holder()


def _reason(task: Task) -> str:
    return "nothing" if task.pending is None else task.pending.blocked_on()


def place(task: Task) -> str | None:
    """Name the line of the code under test at which a task is, or that its operation comes from."""
    return (task.pending.where() if task.pending is not None else None) or locate(task.frame())


def _line(task: Task) -> str:
    if task.pending is None:
        return f"{task.name}: runs"
    limit = "" if task.deadline is None else f", until {task.deadline:g} s at most"
    wait = f"; waits for {_reason(task)}{limit}" if not task.ready() else ""
    line = place(task)
    return f"{task.name}: {task.pending.action}{f' at {line}' if line else ''}{wait}"


def _names(tasks: list[Task]) -> str:
    names = [f"'{task.name}'" for task in tasks]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
