"""Looking at a recording through a model: which of its steps the model speaks of, and with which parameters.

An action is the region of the same name ("PumpDeliver" is "Pump.Deliver"), and its parameters are the region's fields
of the same name, or the name of its task. Whatever happens in regions inside of it is a part of it, with all that
changes there. What the model does not speak of, it must not be asked about, and it is told
why. A family of ids (the outputs of one batch)

- is left out if it meets a region that the lens calls beyond the model;
- leaves where a step that the model lacks bears its name and is taken on an object that the model observes, or changes
  something of it there; where the lens says that it is lost; or where a step of the model raises. What it did before
  is looked at, and what it does from then on is not. Where all ids are one family, a step that is not over then may
  have come later: it counts only as begun.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from omni_ipc.conformance.counterexamples.counterexample import region
from omni_ipc.conformance.models.manifest import Spec
from omni_ipc.conformance.recordings.lens import Lens
from omni_ipc.conformance.recordings.sessions import Session, Step
from omni_ipc.errors import UsageError
from omni_ipc.recordings import Change
from omni_ipc.records import Field

TASK = "task"
"""As a field of a region: the name of its task."""


class Seen(msgspec.Struct, frozen=True):
    """A step that the model speaks of."""

    action: str
    params: dict[str, Field]
    step: Step

    def __str__(self) -> str:
        params = ", ".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.action}({params})"


class View(msgspec.Struct, frozen=True):
    """A session, seen through a lens.

    Args:
        steps: in the order of their beginnings.
        domains: action -> parameter -> the constant that it ranges over.
        left_out: family -> the region for which the model does not speak of it.
        leaving: family -> the region at which it leaves.
    """

    session: Session
    steps: tuple[Seen, ...]
    domains: dict[str, dict[str, str]]
    left_out: dict[str, str]
    leaving: dict[str, str]


def look(session: Session, spec: Spec, lens: Lens) -> View:
    """Look at a session."""
    vocabulary = {region(action): action for action in spec.actions}
    recorded = [*(_whole(step, vocabulary) for step in session.steps), *_deaths(session, lens)]
    beyond = {family: step.action for step in recorded for family in _beyond(step, lens)}
    if lens.alone in session.doubles:
        beyond |= {"": f"several {lens.alone}"}
    if untold := [name for name, field in lens.told.values() if (name, field) not in session.values]:
        beyond |= {"": f"no {untold[0]}"}
    others = dict(_numbers_of_others(recorded, vocabulary, lens))
    everything = [_seen(step, vocabulary, spec, lens) for step in recorded]
    steps: list[Seen] = []
    leaving: dict[str, str] = {}
    cut_ns: int | None = None
    for step, seen in zip(recorded, everything, strict=True):
        for family in _leaving(step, vocabulary, spec, lens):
            leaving.setdefault(family, f"{step.action} raised {step.error}" if step.error else step.action)
        if lens.longest and len(steps) == lens.longest:
            leaving.setdefault("", f"its {lens.longest:,}th step")
        if seen is not None:
            staying = _families(seen, lens) - leaving.keys()
            if staying and (lacking := _lacking(seen, steps, everything, lens)):
                leaving |= dict.fromkeys(staying, f"{step.action} without {lacking}")
            elif staying and (behind := _is_behind(seen, others, lens)):
                leaving |= dict.fromkeys(staying, f"{step.action} behind another's {behind}")
            if not _families(seen, lens) & (beyond.keys() | leaving.keys()):
                steps.append(seen)
        if leaving and not lens.families and cut_ns is None:
            cut_ns = step.begin_ns
    held = set(_held(steps, lens))
    kept = tuple(seen for seen in steps if not (id(seen) in held and leaving.keys() & _families(seen, lens)))
    if lens.families and not any(seen.params for seen in kept):
        kept = ()  # steps of no id say nothing by themselves
    if cut_ns is not None:
        kept = tuple(_unended(seen) if (seen.step.end_ns or 0) > cut_ns else seen for seen in kept)
    return View(session, kept, spec.actions, beyond, {each: why for each, why in leaving.items() if each not in beyond})


def _unended(seen: Seen) -> Seen:
    """Give a step that was not over when all ids left: it may have come behind that, and shown what came of it."""
    return msgspec.structs.replace(seen, step=msgspec.structs.replace(seen.step, end_ns=None, looked=(), changes={}))


def unwatched(session: Session, lens: Lens) -> tuple[str, ...]:
    """Name the objects that show a variable of the model, where none of those that do was watched in a session."""
    return _without_any(session.fields.keys(), lens)


def unlooked(session: Session, lens: Lens) -> tuple[str, ...]:
    """Name those, likewise, where no region of a session has looked at any."""
    return _without_any({name for step in session.steps for name in step.looked}, lens)


def _without_any(present: Collection[str], lens: Lens) -> tuple[str, ...]:
    showing: dict[str, set[str]] = defaultdict(set)
    for name, fields in lens.observes.items():
        for variable in fields.values():
            showing[variable].add(name)
    return tuple(sorted({name for names in showing.values() if names.isdisjoint(present) for name in names}))


def untold(session: Session, lens: Lens) -> tuple[str, ...]:
    """Name the fields that a lens observes of watched objects, and of which a session tells nothing."""
    watched = {name: fields for name, fields in lens.observes.items() if name in session.fields}
    return tuple(f"{name}.{field}" for name in watched for field in watched[name].keys() - session.fields[name])


def _whole(step: Step, vocabulary: Mapping[str, str]) -> Step:
    """Give a step that is an action with what was looked at, and has changed, in the regions inside of it."""
    if not step.inner or step.action not in vocabulary or step.end_ns is None or _is_inside(step, vocabulary):
        return step
    parts = [*_in_order_of_ends(step)]
    looked = tuple(dict.fromkeys(name for part in parts for name in part.looked))
    changes: dict[tuple[str, str], Change] = {}
    for field, change in (changed for part in parts for changed in part.changes.items()):
        changes[field] = changes[field].then(change) if field in changes else change
    return msgspec.structs.replace(step, looked=looked, changes=changes)


def _in_order_of_ends(step: Step) -> Iterator[Step]:
    for each in step.inner:
        yield from _in_order_of_ends(each)
    yield step


def _is_inside(step: Step, vocabulary: Mapping[str, str]) -> bool:
    """Tell whether a step is a part of an action."""
    return any(outer in vocabulary for outer in step.inside_of)


def _families(seen: Seen, lens: Lens) -> set[str]:
    return {*map(lens.family, seen.params.values())} if lens.families else {""}


def _lacking(seen: Seen, before: Iterable[Seen], everything: Iterable[Seen | None], lens: Lens) -> str:
    """Name the action that a step is not the model's without, if it has not come of the same ids."""
    for action, among in ((lens.after.get(seen.action), before), (lens.needs.get(seen.action), everything)):
        if action is not None and not _has(action, seen, among, lens):
            return action
    return ""


def _has(action: str, seen: Seen, among: Iterable[Seen | None], lens: Lens) -> bool:
    """Tell whether an action is among steps, of the ids that a step speaks of."""
    ids = _families(seen, lens)
    return any(each is not None and each.action == action and ids & _families(each, lens) for each in among)


def _numbers_of_others(steps: Iterable[Step], vocabulary: Mapping[str, str], lens: Lens) -> Iterator[tuple[str, int]]:
    """Give the first number of each numbered action that a task has taken which the model does not know to take it."""
    for action, name in lens.numbered.items():
        taken = (step for step in steps if vocabulary.get(step.action) == action and _is_anothers(step, action, lens))
        if numbers := [number for step in taken if isinstance(number := step.fields[name], int)]:
            yield action, min(numbers)


def _is_behind(seen: Seen, others: Mapping[str, int], lens: Lens) -> int:
    """Give the number of another task that a step comes behind; 0: none."""
    number, another = seen.params.get(lens.numbered.get(seen.action, "")), others.get(seen.action, 0)
    return another if isinstance(number, int) and 0 < another < number else 0


def _deaths(session: Session, lens: Lens) -> Iterator[Step]:
    """Make a step of the death of each process that was killed: at any time behind the last that is known of it."""
    prefix, action = lens.killed
    for process in session.killed if action else ():
        if any(step.process == process and step.action.startswith(prefix) for step in session.steps):
            last = session.known_until_ns(process)
            yield Step(process, "death", -1, region(action), {}, last, None, None, (), (), {})


def _held(steps: Iterable[Seen], lens: Lens) -> Iterator[int]:
    """Give, by identity, the steps that took hold of something and did not let go."""
    holding: dict[tuple[str, tuple[Field, ...]], list[Seen]] = defaultdict(list)
    for seen in steps:
        if seen.action in lens.until:
            holding[lens.until[seen.action], tuple(seen.params.values())].append(seen)
        holding.pop((seen.action, tuple(seen.params.values())), None)
    return (id(seen) for held in holding.values() for seen in held)


def _seen(step: Step, vocabulary: Mapping[str, str], spec: Spec, lens: Lens) -> Seen | None:
    """Give the action that a step is; inside of another action it is a part of that one."""
    action = vocabulary.get(step.action)
    if action is None or _is_inside(step, vocabulary):
        return None
    if not spec.actions[action] and _is_anothers(step, action, lens):
        return None
    names = [name for name in spec.actions[action] if lens.fields.get(action, {}).get(name) != ""]
    return Seen(action, {name: _param(step, action, name, lens) for name in names}, step)


def _param(step: Step, action: str, name: str, lens: Lens) -> Field:
    field = lens.fields.get(action, {}).get(name, name)
    if field not in step.fields and field not in (TASK, name):
        raise UsageError(
            f"The region {step.action} has no field '{field}' for the parameter '{name}' of {action}. "
            "Give it one in the code, or name another in spec/trace/lenses.json."
        )
    value = step.fields.get(field, step.task)
    return lens.values.get(str(value), value)


def _beyond(step: Step, lens: Lens) -> Iterator[str]:
    """Name the families that the model does not speak of, because they meet this step."""
    if lens.names(step, lens.beyond):
        yield from lens.families_of(step)


def _leaving(step: Step, vocabulary: Mapping[str, str], spec: Spec, lens: Lens) -> Iterator[str]:
    """Name the families that the model cannot follow through this step."""
    action = vocabulary.get(step.action)
    is_part = _is_inside(step, vocabulary)
    if lens.names(step, lens.lost) and not (is_part and step.looked):
        yield from lens.families_of(step)
    if is_part:
        if action in lens.intruding:
            yield from lens.families_of(step)
        return
    if action is not None and (_is_refused(step, action, lens) or _is_anothers(step, action, lens)):
        seen = _seen(step, vocabulary, spec, lens)
        yield from _families(seen, lens) if seen is not None else ()
    if _takes_several(step, action, lens):
        yield from lens.families_of(step)
    is_unknown = action is None or _is_anothers(step, action, lens)
    if is_unknown and any(name in lens.observes for name in step.looked):
        parameters = {name for each in spec.actions.values() for name in each}
        yield from (lens.family(value) for name, value in step.fields.items() if name in parameters)
        for _, change in lens.observed(step):
            yield from map(lens.family, (*change.came, *change.gone))


def _takes_several(step: Step, action: str | None, lens: Lens) -> bool:
    """Tell whether more members of a variable go in a step than the model takes at once."""
    variable = lens.single.get(action or "")
    return any(name == variable and len(change.gone) > 1 for name, change in lens.observed(step))


def _is_anothers(step: Step, action: str, lens: Lens) -> bool:
    """Tell whether a task took a step that the model knows another one to take."""
    return lens.tasks.get(action, step.task) != step.task


def _is_refused(step: Step, action: str, lens: Lens) -> bool:
    """Tell whether a step raised what the model does not know it to raise."""
    return step.error is not None and action not in lens.raises
