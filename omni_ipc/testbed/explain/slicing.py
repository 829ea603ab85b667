"""The steps of a trace that matter.

They are: the failing step, those of its causes, and the last ones of the tasks that wait; and, of all steps that
happened before them, those that use what these are about. Around a use in a section under a lock, its lock is shown; a
task that polls is shown once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from omni_ipc.records import Step, Trace
from omni_ipc.testbed.explain.conflicts import History, Use
from omni_ipc.testbed.explain.words import is_region

_SHORT = 24
"""Of a trace that was not recorded, and of at most so many steps, all matter."""

_MOST = 60  # of more steps that matter, those in the middle are left out
_FIRST, _LAST = 10, 40
_LONGEST_PERIOD = 12  # steps of a poll
_ARRIVAL = "words.flush"  # of a store in memory: late, and so a step that matters


def steps_that_matter(trace: Trace, history: History, about: Collection[str]) -> tuple[int, ...]:
    """Return the indices of the steps that matter, in order."""
    steps = trace.steps
    chosen = _slice(trace, history, about) if history.uses and trace.failure is not None else _striking(steps)
    if len(chosen) > _MOST:
        core = _core(trace, history)
        chosen = [index for k, index in enumerate(chosen) if k < _FIRST or k >= len(chosen) - _LAST or index in core]
    return tuple(chosen)


def what_it_is_about(trace: Trace, history: History) -> tuple[str, ...]:
    """Return what the causes are about, what the failing step uses, and what is waited for; all data, if it is none."""
    about = [cause.target for cause in trace.causes]
    about += [target for index in _ends(trace) for target in history.targets(index) if not history.names.orders(target)]
    about += [target for wait in _waits(trace) for target in history.names.waited_for(wait)]
    if not trace.causes and not _waits(trace):
        about = [target for target in history.uses if not history.names.orders(target)]
    return tuple(dict.fromkeys(about))


def _slice(trace: Trace, history: History, about: Collection[str]) -> list[int]:
    core = _core(trace, history)
    leading = history.leads_to(core)
    dull = _repetitions(trace.steps)
    last = max((cause.second for cause in trace.causes), default=len(trace.steps))
    uses = (use for target in about for use in _telling(history.uses[target], last))
    chosen = {use.at for use in uses if use.at in leading and use.at not in dull}
    chosen |= core
    chosen |= {index for index, step in enumerate(trace.steps) if step.action.startswith("fault.")}
    chosen |= set(_given_up(trace.steps))
    chosen |= set(_sections(trace.steps, chosen))
    return sorted(chosen)


def _telling(uses: Sequence[Use], last: int) -> Iterator[Use]:
    """Leave out the uses behind the last cause that leave the value as it was."""
    before: str | None = None
    for use in uses:
        if use.at <= last or use.value is None or use.value != before:
            yield use
        before = use.value


def _core(trace: Trace, history: History) -> set[int]:
    causes = {index for cause in trace.causes for index in (cause.first, cause.second)}
    core = {index for index in causes if index < len(trace.steps)} | _ends(trace)
    for wait in _waits(trace):
        for target in history.names.waited_for(wait):
            core |= {use.at for use in history.uses[target][-1:]}
    return core


def _ends(trace: Trace) -> set[int]:
    """Return the last steps of the task that failed, and of those that wait."""
    last = {step.task: index for index, step in enumerate(trace.steps)}
    failure = trace.failure
    if failure is None:
        return set()
    tasks = {failure.task, *(wait.task for wait in failure.waits)}
    return {index for task, index in last.items() if task in tasks}


def _waits(trace: Trace) -> list[str]:
    return [wait.target for wait in trace.failure.waits] if trace.failure is not None else []


def _given_up(steps: Sequence[Step]) -> Iterator[int]:
    """Give the waits whose time limit passed, unless their task does that all the time."""
    count = Counter((step.task, step.action, step.where) for step in steps)
    for index, step in enumerate(steps):
        if step.expired and count[step.task, step.action, step.where] == 1:
            yield index


def _sections(steps: Sequence[Step], chosen: Collection[int]) -> Iterator[int]:
    """Give where the locks were taken and released in whose sections chosen steps lie."""
    taken: dict[tuple[str, object], int] = {}
    for index, step in enumerate(steps):
        kind, _, verb = step.action.partition(".")
        key = (step.task, step.fields.get(kind))
        if verb == "acquire" and not step.expired:
            taken[key] = index
        elif verb == "release" and key in taken:
            begin = taken.pop(key)
            if any(begin < k < index and steps[k].task == step.task for k in chosen):
                yield from (begin, index)


def _striking(steps: Sequence[Step]) -> list[int]:
    """Return the steps of a trace of which no more is known: of a long one, regions and last steps."""
    if len(steps) <= _SHORT:
        return list(range(len(steps)))
    last = {step.task: index for index, step in enumerate(steps)}.values()
    dull = _repetitions(steps)
    if any(map(is_region, steps)):
        dull |= {k for k, step in enumerate(steps) if not (is_region(step) or step.action == _ARRIVAL)}
    return [index for index in range(len(steps)) if index not in dull or index in last]


def _repetitions(steps: Sequence[Step]) -> set[int]:
    """Find the steps of a task that polls: the same few steps once more, with nobody else's between them."""
    keys = [(step.task, step.action, step.fields) for step in steps]
    found: set[int] = set()
    for period in range(1, _LONGEST_PERIOD + 1):
        for begin in range(period, len(keys) - period + 1):
            again = keys[begin : begin + period]
            if again == keys[begin - period : begin] and len({task for task, *_ in again}) == 1:
                found.update(range(begin, begin + period))
    return found
