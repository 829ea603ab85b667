"""Why a recording is no behaviour of the model, and the single repair that would make it one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from omni_ipc.conformance.models.values import parse_printed
from omni_ipc.conformance.recordings.cases import Pool, make_cases
from omni_ipc.conformance.recordings.chains import Ranked
from omni_ipc.conformance.recordings.explanation_module import EXPLANATION, explanation_module, guards_of
from omni_ipc.conformance.recordings.looking import Seen
from omni_ipc.conformance.recordings.trace_module import design_of, module_files
from omni_ipc.conformance.recordings.validate import Bench, Found, run_tlc
from omni_ipc.conformance.tlc.output import parse_output
from omni_ipc.conformance.tlc.running import module_text
from omni_ipc.conformance.tlc.syntax import Definition, read_definitions
from omni_ipc.errors import Inconclusive
from omni_ipc.recordings import Change
from omni_ipc.records import Field
from omni_ipc.values import Value, show


class Followed(msgspec.Struct, frozen=True):
    """How far one task came.

    Args:
        next: the step of it that was not taken.
    """

    process: int
    task: str
    taken: int
    of: int
    next: str | None


class Refused(msgspec.Struct, frozen=True):
    """A step that would have been next, and why it could not be taken.

    Args:
        why: in one sentence.
        guard: the guard that is false, as it stands in the module.
        where: that stands.
        values: of the variables that it depends on.
    """

    step: str
    why: str
    guard: str = ""
    where: str = ""
    values: dict[str, str] = {}


class Rejection(msgspec.Struct, frozen=True):
    """What can be said of a recording that was rejected.

    Args:
        index: of the first step that could not be taken, among those that the model speaks of, from 1 on.
        step: which that is.
        repair: what would make it pass; empty if no single change would.
        missing: whether that is a step that is not in the recording, by its action.
        missing_until_ns: when that must have been over; None: at any time.
    """

    index: int
    step: str
    followed: tuple[Followed, ...]
    refused: tuple[Refused, ...]
    enabled: tuple[str, ...]
    state: dict[str, str]
    repair: str
    missing: str | None = None
    missing_until_ns: int | None = None


class Explainer:
    """Tells why recordings are rejected by one model, whose definitions it reads once."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._definitions: Mapping[str, Definition] = {}

    def explain(self, found: Found) -> Rejection:
        """Follow a rejected recording once more, and tell where it comes to a stop.

        Raises:
            Inconclusive: the module of the model cannot be read.
        """
        self._definitions = self._definitions or self._read()
        return _Rejected(found, self._bench, self._definitions).rejection()

    def _read(self) -> Mapping[str, Definition]:
        bench = self._bench
        design = design_of(bench.name, bench.manifest)
        return read_definitions(
            design.module,
            module_text(design, bench.manifest),
            bench.manifest,
            toolchain=bench.toolchain,
            children=bench.children,
        )


class _Rejected:
    def __init__(self, found: Found, bench: Bench, definitions: Mapping[str, Definition]) -> None:
        pool = Pool()
        view = msgspec.structs.replace(found.case.view, steps=found.case.steps)
        (self._case,) = make_cases(view, bench.lens, pool, whole=True)  # the same chains, alone
        self._at = found.at
        self._bench = bench
        self._files = module_files(bench.spec, bench.lens, bench.probes, [self._case], pool)
        self._definitions = definitions

    def rejection(self) -> Rejection:
        of_model = {v for conjunct in self._definitions["Init"].conjuncts for v in conjunct.variables}
        shown = {variable for fields in self._bench.lens.observes.values() for variable in fields.values()}
        variables = sorted(of_model | shown)
        said = self._ask(variables)
        index, first = self._case.first_left(self._at)
        _, values = next(_said(said, "state"), (None, None))
        if values is None:
            raise Inconclusive(f"The reason cannot be told: {parse_output(said).message}")
        state = dict(zip(variables, self._original(values), strict=True))
        repairs = [one for _, one in _said(said, "repair")]
        repair, missing = self._repair(repairs)
        return Rejection(
            index=index,
            step=self._tell(first),
            followed=tuple(self._followed()),
            refused=tuple(self._refused(said, state)),
            enabled=tuple(sorted(_call(a, self._original(ps)) for _, a, each in _said(said, "enabled") for ps in each)),
            state={name: show(value) for name, value in state.items()},
            repair=repair,
            missing=missing,
            missing_until_ns=self._until_ns([at for kind, *_, at in repairs if kind == "insert"]) if missing else None,
        )

    def _ask(self, variables: Sequence[str]) -> str:
        bench = self._bench
        text = explanation_module(bench.spec, bench.lens, self._case, self._at, variables, self._definitions)
        loud = self._files["Model.cfg"].replace("SPECIFICATION ValidationSpec", "SPECIFICATION ExplanationSpec__")
        loud = loud.replace("INVARIANTS AcceptanceTold ProgressTold", "INVARIANT Told__")
        files = self._files | {f"{EXPLANATION}.tla": text, "Model.cfg": loud}
        return run_tlc(EXPLANATION, files, bench).output

    def _upcoming(self) -> dict[int, Ranked]:
        """The next step of each chain, by its number."""
        chains = enumerate(zip(self._case.chains, self._at, strict=True), start=1)
        return {number: chain[taken] for number, (chain, taken) in chains if taken < len(chain)}

    def _followed(self) -> Iterator[Followed]:
        taken = {id(r.seen) for chain, count in zip(self._case.chains, self._at, strict=True) for r in chain[:count]}
        tasks: dict[tuple[int, int, str], list[Seen]] = {}
        for seen in self._case.steps:
            tasks.setdefault((seen.step.process, seen.step.thread, seen.step.task), []).append(seen)
        for (process, _, task), steps in tasks.items():
            left = [seen for seen in steps if id(seen) not in taken]
            yield Followed(process, task, len(steps) - len(left), len(steps), str(left[0]) if left else None)

    def _refused(self, said: str, state: Mapping[str, Value]) -> Iterator[Refused]:
        upcoming = self._upcoming()
        instead = {chain: values for _, chain, values in _said(said, "instead")}
        for _, number, may_be_taken, false in _said(said, "next"):
            seen = upcoming[number].seen
            if not may_be_taken:
                yield Refused(self._tell(seen), self._why_not_yet(number, upcoming))
            elif false:
                yield self._by_guard(seen, self._definitions[seen.action], false - 1, state)
            elif number in instead:
                yield Refused(
                    self._tell(seen), self._why_not_so(upcoming[number], state, self._original(instead[number]))
                )
            else:
                yield Refused(self._tell(seen), "the model cannot take it here.")

    def _why_not_yet(self, number: int, upcoming: Mapping[int, Ranked]) -> str:
        ranked = upcoming[number]
        for other, before in upcoming.items():
            if other != number and before.end < ranked.begin:
                return f"it began after {self._tell(before.seen)} had ended, which was not taken."
        return f"its cause, {self._bench.lens.causes.get(ranked.seen.action)} of the same, was not taken."

    def _by_guard(self, seen: Seen, definition: Definition, index: int, state: Mapping[str, Value]) -> Refused:
        conjunct = dict(guards_of(definition))[index]
        return Refused(
            step=self._tell(seen),
            why=f"it takes {conjunct.text}, which is false.",
            guard=conjunct.text,
            where=f"{conjunct.place.module}.tla:{conjunct.place.line}",
            values={name: show(state[name]) for name in conjunct.variables},
        )

    def _why_not_so(self, ranked: Ranked, state: Mapping[str, Value], values: Sequence[Value]) -> str:
        """Say how what the recording shows behind a step differs from what the model has there."""
        lens, step = self._bench.lens, ranked.seen.step
        changes, differences = dict(lens.observed(step)), []
        variables = [(name, field, v) for name, fields in lens.observes.items() for field, v in fields.items()]
        for (name, field, variable), model in zip(variables, values, strict=True):
            if name not in step.looked:
                continue
            before, change = state[variable], changes.get(variable)
            recorded, unlike = self._recorded(before, change), ""
            if recorded != model:
                unlike = f"{variable} is {show(model)}, and {name}.{field} is {show(recorded)} in the recording"
            elif unlike_before := self._unlike_before(before, change):
                unlike = f"{variable} was {show(before)}, and {name}.{field} {unlike_before} in the recording"
            if unlike:
                differences.append(unlike)
        return f"behind it, {'; '.join(differences) or 'something else differs'}."

    def _recorded(self, before: Value, change: Change | None) -> Value:
        """Give what a variable should be behind a step that has changed the field that it stands for."""
        if change is None:
            return before
        if change.value is not None:
            return change.value
        assert isinstance(before, frozenset), "keys come to sets and go from them"
        came, gone = self._ours(change)
        return (before - gone) | came

    def _unlike_before(self, before: Value, change: Change | None) -> str:
        """Say what has gone and was not there, or has come and was."""
        if change is None or change.value is not None:
            return ""
        assert isinstance(before, frozenset), "keys come to sets and go from them"
        came, gone = self._ours(change)
        if lost := gone - before:
            return f"has lost {show(lost)}"
        return f"has got {show(came & before)}" if came & before else ""

    def _ours(self, change: Change) -> tuple[frozenset[Field], frozenset[Field]]:
        """Give the keys that have come and gone, of the families that are looked at."""
        lens, slots = self._bench.lens, self._case.slots
        came, gone = (
            frozenset(key for key in keys if not lens.families or lens.family(str(key)) in slots)
            for keys in (change.came, change.gone)
        )
        return came, gone

    def _repair(self, repairs: Sequence[Any]) -> tuple[str, str | None]:
        """Choose among the repairs that work: what changes least comes first, and then what comes last."""
        order = ("early", "insert", "unseen", "skip")
        ranked = sorted(repairs, key=lambda one: (order.index(one[0]), -self._taken_before(one)))
        if not ranked:
            return "", None
        match self._original(ranked[0]):
            case ("early", (int(chain), int(place)), tuple(at)):
                step = self._tell(self._at_place(chain, place))
                return f"It would pass if {step} had come{self._before(at)}.", None
            case ("skip", (int(chain), int(place))):
                return f"It would pass without {self._tell(self._at_place(chain, place))}.", None
            case ("unseen", (int(chain), int(place))):
                step = self._tell(self._at_place(chain, place))
                return f"It would pass if {step} had left behind what the model says.", None
            case ("insert", str(action), params, tuple(at)):
                missing = f"{_call(action, params)}{self._before(at)}, which is not in the recording"
                return f"It would pass with {missing}.", action
        return "", None

    def _until_ns(self, places: Sequence[Sequence[int]]) -> int | None:
        """Tell when a step at the latest of some places must be over: before any that comes behind it is."""
        until = [
            min((each.seen.step.end_ns for each in left if each.seen.step.end_ns is not None), default=None)
            for left in map(self._left, places)
        ]
        return None if None in until else max(time for time in until if time is not None)

    def _left(self, at: Sequence[int]) -> list[Ranked]:
        """Give the steps that were not taken when so many of each chain were."""
        return [each for chain, taken in zip(self._case.chains, at, strict=True) for each in chain[taken:]]

    def _taken_before(self, repair: Any) -> int:
        match repair:
            case (_, *_, tuple(at)) if len(repair) > 2:
                return sum(at)
            case (_, (int(chain), int(place))):
                return self._case.steps.index(self._at_place(chain, place))
        return 0

    def _before(self, at: Sequence[int]) -> str:
        """Name the first step that was not taken when so many of each chain were."""
        left = self._left(at)
        return f" before {self._tell(min(left, key=lambda ranked: ranked.begin).seen)}" if left else " at its end"

    def _at_place(self, chain: int, place: int) -> Seen:
        return self._case.chains[chain - 1][place - 1].seen

    def _original(self, value: Value) -> Any:
        return self._case.original(value, self._bench.lens)

    def _tell(self, seen: Seen) -> str:
        return f"{seen} of {seen.step.task} (process {seen.step.process})"


def _said(output: str, tag: str) -> Iterator[tuple[Any, ...]]:
    """Read what our own module has printed, whose forms are known."""
    return parse_printed(output, tag)


def _call(action: str, params: Value) -> str:
    assert isinstance(params, tuple), "one value for each parameter"
    return f"{action}({', '.join(map(show, params))})" if params else action
