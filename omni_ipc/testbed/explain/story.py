"""What happened, in sentences: the causes, and what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omni_ipc.records import Cause, Failure, FailureKind, Step, Trace, Wait
from omni_ipc.testbed.explain.conflicts import History
from omni_ipc.testbed.explain.words import access_to, did, place

_ALONE = {1: "The other way round", 2: "With either of these orders turned round"}
_ANY = "With any one of these orders turned round"
_TOGETHER = "With one of these orders turned round, it fails all the same; with both, it does not."
_NONE = "No order of two steps was found with which it would not fail, nor two such orders together."

_LONGEST = 200  # characters of a message


def tell(trace: Trace, history: History) -> tuple[str, ...]:
    """Tell what happened, as far as it is more than the failure itself tells."""
    faults = [
        f"At step {number} this went wrong: {step.action.removeprefix('fault.')}."
        for number, step in enumerate(trace.steps, start=1)
        if step.action.startswith("fault.")
    ]
    causes = [_cause(trace, history, cause) for cause in trace.causes]
    end = list(_end(trace, history, trace.failure)) if trace.failure is not None else []
    return (*faults, *causes, *_moral(trace, history), *end)


def _cause(trace: Trace, history: History, cause: Cause) -> str:
    steps = (*trace.steps, *trace.pending)
    target = None if history.names.orders(cause.target) else cause.target  # who holds a lock is told by the verb
    yet = ", which it had yet to do" if cause.second >= len(trace.steps) else ""
    sentence = f"{did(steps[cause.first], target)} before {did(steps[cause.second], target)}{yet}."
    return sentence[0].upper() + sentence[1:]


def _moral(trace: Trace, history: History) -> Iterator[str]:
    """Say what the experiments have shown."""
    if any(cause.jointly for cause in trace.causes):
        yield _TOGETHER
    elif trace.causes:
        yield f"{_ALONE.get(len(trace.causes), _ANY)}, it does not fail."
    elif trace.failure is not None and not trace.failure.waits and history.uses:
        yield _NONE


def _end(trace: Trace, history: History, failure: Failure) -> Iterator[str]:
    match failure.kind:
        case FailureKind.DEADLOCK if failure.waits:
            stuck = [wait for wait in failure.waits if wait.held_by is not None]
            yield f"{'; '.join(_hold_and_wait(trace, wait, failure.waits) for wait in stuck)}: none can go on."
        case FailureKind.LOST_WAKEUP | FailureKind.LEAK if failure.waits:
            main = next((wait for wait in failure.waits if wait.task == failure.task), failure.waits[0])
            yield from _too_early(trace, history, main)
            where = f" ({main.where.partition(' in ')[0]})" if main.where else ""
            yield f"'{main.task}' waits for {main.target}{where}, {_state(main)}and nobody is left to wake it."
        case _ if not trace.causes:
            return  # nothing that the failure itself does not tell
        case FailureKind.EXCEPTION:
            first, *_ = failure.message.splitlines() or [""]
            where = f" ({failure.where.partition(' in ')[0]})" if failure.where else ""
            yield f"So '{failure.task}' raised {first[:_LONGEST].rstrip('.')}{where}."
        case _:
            yield f"So it came to this {failure.kind.value}: {failure.message[:_LONGEST].rstrip('.')}."


def _state(wait: Wait) -> str:
    """Say how what is waited for stands; nobody holds a task's own end."""
    if wait.target == _end_of(wait.held_by):
        return ""
    if wait.held_by is not None:
        return f"which '{wait.held_by}' {'has left locked' if wait.held_by_ended else 'holds'}, "
    return f"which {wait.state}, " if wait.state else ""


def _end_of(task: str | None) -> str:
    return f"the end of '{task}'"


def _hold_and_wait(trace: Trace, wait: Wait, waits: Sequence[Wait]) -> str:
    """Say what a task in a cycle holds, since when, and what it waits for."""
    wanted = next((other.target for other in waits if other.held_by == wait.task), None)
    held = f"'{wait.task}'"
    if wanted is not None and wanted != _end_of(wait.task):
        taken = [k for k, step in enumerate(trace.steps) if step.task == wait.task and _takes(step, wanted)]
        since = f" since step {taken[-1] + 1} ({place(trace.steps[taken[-1]])})" if taken else ""
        held += f" holds {wanted}{since} and"
    where = f" ({wait.where.partition(' in ')[0]})" if wait.where else ""
    return f"{held} waits for {wait.target}{where}"


def _takes(step: Step, lock: str) -> bool:
    access = access_to(step, lock)
    return (access is not None and access.writes and access.value != "free") or (
        step.action.endswith(".acquire") and lock in step.fields.values()
    )


def _too_early(trace: Trace, history: History, wait: Wait) -> Iterator[str]:
    """Tell of the last one that changed what a task waits for, before the task began to."""
    for target in history.names.waited_for(wait.target):
        begun = [use for use in history.uses[target] if use.task == wait.task]
        changed = [use for use in history.uses[target] if use.task != wait.task and use.writes]
        if begun and changed and changed[-1].at < begun[-1].at:
            late, early = trace.steps[begun[-1].at], trace.steps[changed[-1].at]
            yield f"{did(early, target)} before {did(late, target)}."
