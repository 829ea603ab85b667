"""The module that TLC searches for an order of recorded steps that is a behaviour of the model.

Validation ── extends ──► TraceX ──► MCX, X          the model
                              └────► Recording       orders that windows and causes allow; acceptance
                                         └► Recorded     the steps (written here, like Validation)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from omni_ipc.conformance.models.manifest import Manifest, Model, Role, Spec
from omni_ipc.conformance.recordings.cases import Case, Pool
from omni_ipc.conformance.recordings.chains import Ranked
from omni_ipc.conformance.recordings.lens import Lens
from omni_ipc.conformance.recordings.looking import Seen
from omni_ipc.recordings import Change
from omni_ipc.records import Field
from omni_ipc.values import Value, normal, show

MODULE = "Validation"


def probes_of(spec: str, manifest: Manifest) -> tuple[str, ...]:
    """Name the invariants of a spec whose violation is an interesting state."""
    models = (model for model in manifest.models if model.spec == spec and model.role is Role.REACH)
    return tuple(dict.fromkeys(model.expect.name for model in models if model.expect.name))


def design_of(spec: str, manifest: Manifest) -> Model:
    """The model that says how the spec is meant."""
    return next(model for model in manifest.models if model.spec == spec and model.role is Role.DESIGN)


def module_files(spec: Spec, lens: Lens, probes: Sequence[str], cases: Sequence[Case], pool: Pool) -> dict[str, str]:
    """Write the modules and the cfg of one search; name -> text."""
    return {
        f"{MODULE}.tla": "\n".join(_validation(spec, lens, probes)) + "\n",
        "Recorded.tla": "\n".join(_recorded(lens, cases, pool)) + "\n",
        "Model.cfg": "\n".join(_configuration(spec, lens, cases, pool)) + "\n",
    }


def _validation(spec: Spec, lens: Lens, probes: Sequence[str]) -> Iterator[str]:
    yield f"---- MODULE {MODULE} ----"
    yield f"EXTENDS {lens.module}"
    yield "TakeRecorded(step) =="
    for place, (action, parameters) in enumerate(spec.actions.items()):
        arguments = f"({', '.join(f'step.{name}' for name in parameters)})" if parameters else ""
        taken = lens.taken.get(action, f"{action}{arguments}")
        yield f'    {"[]" if place else "CASE"} step.action = "{action}" -> {taken}'
    yield "ShowsRecorded(step) =="
    yield "    /\\ Fits(step)"
    for name, fields in lens.observes.items():
        for variable in fields.values():
            yield f'    /\\ Agrees(step, "{name}", "{variable}", {variable}, {variable}\')'
    yield "ProbesReached =="
    yield "    {}"
    for probe in probes:
        yield f'    \\cup (IF {probe} THEN {{}} ELSE {{"{probe}"}})'
    yield "ValidationInit == Init /\\ RecordingBegins"
    yield from _unseen(lens)
    yield "ValidationNext == \\E chain \\in DOMAIN progress : "
    yield "    /\\ MayBeNext(chain)"
    yield "    /\\ LET step == NextRecorded(chain) IN"
    yield "        \\/ TakeRecorded(step) /\\ AdvanceChain(chain) /\\ ShowsRecorded(step)"
    yield "        \\/ TakeUnseen(step) /\\ UNCHANGED <<progress, recording>>"
    yield "    /\\ probed' = probed \\cup ProbesReached'"
    yield "ValidationSpec == ValidationInit /\\ [][ValidationNext]_<<vars, progress, probed, recording>>"
    yield "===="


def _unseen(lens: Lens) -> Iterator[str]:
    """What the model does right before a step, unseen."""
    cases = [f'step.action = "{action}" -> {taken}' for action, taken in lens.unseen.items()]
    yield f"TakeUnseen(step) == {' [] '.join(['CASE ' * (not at) + case for at, case in enumerate(cases)])} "
    yield "    [] OTHER -> FALSE" if cases else "    FALSE"


def _recorded(lens: Lens, cases: Sequence[Case], pool: Pool) -> Iterator[str]:
    yield "---- MODULE Recorded ----"
    yield "EXTENDS TLC"
    families = (normal((name, {name + rest for _, rest in shape})) for name, shape in pool.families())
    yield f"RecordedFamilies == {_laid_out(frozenset(families))}"
    yield f"RecordedRequired == {_laid_out(normal([case.required for case in cases]))}"
    yield f"RecordedOrder == {_laid_out(normal([list(_order(case)) for case in cases]))}"
    yield f"RecordedPlaces == {_laid_out(normal([_places_of_actions(case) for case in cases]))}"
    yield f"RecordedMost == {_laid_out(normal(dict(_most(cases))))}"
    yield f"RecordedListed == {_laid_out(normal([_listed(case, lens) for case in cases]))}"
    yield f"RecordedTold == {_laid_out(normal([_told(case, lens) for case in cases]))}"
    yield "RecordedSteps == <<"
    for number, case in enumerate(cases):
        yield f"{', ' if number else ''}<<"
        places = {id(ranked.seen): at for at in _places(case) for ranked in (case.chains[at[0] - 1][at[1] - 1],)}
        causes = _causes(case, lens, places)
        for place, chain in enumerate(case.chains):
            rows = (_laid_out(_row(case, ranked, lens, causes.get(id(ranked.seen), frozenset()))) for ranked in chain)
            yield f"{', ' if place else ''}<<" + "\n, ".join(rows) + ">>"
        yield ">>"
    yield ">>"
    yield "===="


def _told(case: Case, lens: Lens) -> dict[str, Field]:
    """What the recording tells of constants."""
    return {name: case.view.session.values[told] for name, told in lens.told.items()}


def _laid_out(value: Value) -> str:
    """Write a value in short lines: TLC looks through each line of a module in a time that grows with its square."""
    return show(value, "\n, ")


def _order(case: Case) -> Iterator[tuple[int, int]]:
    """Give chain and place of each step, in the order of their beginnings."""
    return iter(sorted(_places(case), key=lambda at: case.chains[at[0] - 1][at[1] - 1].begin))


def _places_of_actions(case: Case) -> dict[str, list[tuple[int, int]]]:
    """Give chain and place of each step by its action; TLC would look for them again and again."""
    found: dict[str, list[tuple[int, int]]] = {}
    for chain, place in _order(case):
        found.setdefault(case.chains[chain - 1][place - 1].seen.action, []).append((chain, place))
    return found


def _most(cases: Sequence[Case]) -> Counter[str]:
    """Count the steps of each action in whichever case has most."""
    most: Counter[str] = Counter()
    for case in cases:
        most |= Counter(seen.action for seen in case.steps)
    return most


def _listed(case: Case, lens: Lens) -> dict[str, list[Field]]:
    """Give the values of parameters, step by step; TLC would go through all steps for each of them."""
    return {
        action: [case.named(seen.params[name], lens) for seen in case.steps if seen.action == action]
        for action, name in lens.listed.items()
    }


def _places(case: Case) -> Iterator[tuple[int, int]]:
    for chain, steps in enumerate(case.chains, start=1):
        for place in range(1, len(steps) + 1):
            yield chain, place


def _causes(case: Case, lens: Lens, places: dict[int, tuple[int, int]]) -> dict[int, frozenset[tuple[int, int]]]:
    """Find the cause of each effect: chain and place of a step that must have been taken before."""
    first: dict[tuple[str, tuple[Field, ...]], Seen] = {}
    for seen in case.steps:
        first.setdefault((seen.action, tuple(seen.params.values())), seen)
    found = {}
    for seen in case.steps:
        cause = first.get((lens.causes.get(seen.action, ""), tuple(seen.params.values())))
        if cause is not None:
            found[id(seen)] = frozenset({places[id(cause)]})
    return found


def _row(case: Case, ranked: Ranked, lens: Lens, after: frozenset[tuple[int, int]]) -> Value:
    step = ranked.seen.step
    row: dict[str, object] = {
        "action": ranked.seen.action,
        "begin": ranked.begin,
        "end": ranked.end,
        **{name: case.named(value, lens) for name, value in ranked.seen.params.items()},
    }
    changes = {variable: _change(case, change, lens) for variable, change in lens.observed(step)}
    looked = frozenset(name for name in step.looked if name in lens.observes)
    told = {"after": after, "looked": looked, "changes": changes}  # of thousands of steps: only what there is
    return normal(row | {name: what for name, what in told.items() if what})


def _change(case: Case, change: Change, lens: Lens) -> dict[str, object]:
    if change.value is not None:
        return {"value": change.value}
    came, gone = (
        frozenset(case.named(key, lens) for key in keys if not lens.families or lens.family(key) in case.slots)
        for keys in (change.came, change.gone)
    )
    return {"came": came, "gone": gone}


def _configuration(spec: Spec, lens: Lens, cases: Sequence[Case], pool: Pool) -> Iterator[str]:
    constants: dict[str, set[Field]] = {constant: set() for each in spec.actions.values() for constant in each.values()}
    for name, shape in pool.families():
        for constant, rest in shape:
            constants[constant].add(name + rest)
    if not lens.families:
        for seen in (seen for case in cases for seen in case.steps):
            for name, value in seen.params.items():
                constants[spec.actions[seen.action][name]].add(value)
    yield "CONSTANTS"
    values = {name: show(normal(together)) for name, together in constants.items() if name not in lens.defined}
    values |= {name: show(value) for name, value in _told(cases[0], lens).items()} | lens.assigned
    for name, value in values.items():
        yield f"    {name} = {value}"
    for name, definition in lens.defined.items():
        yield f"    {name} <- {definition}"
    yield "SPECIFICATION ValidationSpec"
    yield "INVARIANTS AcceptanceTold ProgressTold"
