"""The module that says why a recording was rejected, and what would let it pass.

It follows the recording as the search did. Where that came no farther it tells the state, what could happen there by
the model, and of each step that is next: whether its turn has come, the first guard that is false, and what the model
would have shown instead. And within the last steps before that it tries each single repair, and goes on with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from omni_ipc.conformance.models.manifest import Spec
from omni_ipc.conformance.recordings.cases import Case
from omni_ipc.conformance.recordings.lens import Lens
from omni_ipc.conformance.recordings.trace_module import MODULE
from omni_ipc.conformance.tlc.syntax import Conjunct, Definition
from omni_ipc.values import show

EXPLANATION = "Explanation"

NEAR = 12
"""Repairs are tried at so many steps before the one that cannot be taken."""


def explanation_module(
    spec: Spec, lens: Lens, case: Case, at: Sequence[int], variables: Sequence[str], actions: Mapping[str, Definition]
) -> str:
    """Write the module.

    Args:
        at: how many steps of each chain were taken where the search came farthest.
        variables: of the model.
        actions: of the model, as they are defined.
    """
    open_chains = [number for number, chain in enumerate(case.chains, start=1) if at[number - 1] < len(chain)]
    return "\n".join(
        [
            f"---- MODULE {EXPLANATION} ----",
            f"EXTENDS {MODULE}",
            "VARIABLE repair__",
            f"Farthest__ == {show(tuple(at))}",
            "Here__ == progress = Farthest__ /\\ repair__ = <<>>",
            *_settled(lens),
            f"Near__ == repair__ = <<>> /\\ SumOf(progress) + {NEAR} >= SumOf(Farthest__)",
            *_guards(spec, lens, actions),
            *_next(spec, lens),
            "Told__ ==",
            f'    /\\ Here__ => PrintT(<<"state", <<{", ".join(variables)}>>>>)',
            *(f'    /\\ Here__ => PrintT(<<"enabled", {possible}>>)' for possible in _enabled(spec)),
            *(
                f"    /\\ Here__ => PrintT("
                f'<<"next", {number}, MayBeNext({number}), FirstFalse__(NextRecorded({number}))>>)'
                for number in open_chains
            ),
            '    /\\ RecordingAccepted /\\ repair__ # <<>> => PrintT(<<"repair", repair__>>)',
            "====",
            "",
        ]
    )


def _settled(lens: Lens) -> Iterator[str]:
    """What happens unseen has happened where the search stopped."""
    if lens.unseen:
        yield "    /\\ \\A chain \\in DOMAIN progress : MayBeNext(chain) => ~ENABLED TakeUnseen(NextRecorded(chain))"


def _next(spec: Spec, lens: Lens) -> Iterator[str]:
    shown = ", ".join(f"{variable}'" for fields in lens.observes.values() for variable in fields.values())
    yield "Place__(chain) == <<chain, progress[chain] + 1>>"
    yield 'CameEarly__(place) == repair__ # <<>> /\\ repair__[1] = "early" /\\ repair__[2] = place'
    yield "HasCome__(cause) == CauseTaken(cause) \\/ CameEarly__(cause)"
    yield "GoOn__ =="
    yield "    \\/ \\E chain \\in DOMAIN progress : HasMore(chain) /\\ WindowAllows(chain)"
    yield '        /\\ (\\A cause \\in FieldOf(NextRecorded(chain), "after", {}) : HasCome__(cause))'
    yield "        /\\ TakeRecorded(NextRecorded(chain)) /\\ AdvanceChain(chain) /\\ ShowsRecorded(NextRecorded(chain))"
    yield "    \\/ \\E chain \\in DOMAIN progress : MayBeNext(chain)"
    yield "        /\\ TakeUnseen(NextRecorded(chain)) /\\ UNCHANGED <<progress, recording>>"
    yield "    \\/ \\E chain \\in DOMAIN progress : HasMore(chain) /\\ CameEarly__(Place__(chain))"
    yield "        /\\ AdvanceChain(chain) /\\ UNCHANGED vars"
    yield "Repair__ =="
    yield "    \\/ \\E chain \\in DOMAIN progress : MayBeNext(chain) /\\ UNCHANGED vars /\\ AdvanceChain(chain)"
    yield '        /\\ repair__\' = <<"skip", Place__(chain)>>'
    yield "    \\/ \\E chain \\in DOMAIN progress : MayBeNext(chain)"
    yield "        /\\ TakeRecorded(NextRecorded(chain)) /\\ AdvanceChain(chain)"
    yield f'        /\\ (Here__ => PrintT(<<"instead", chain, <<{shown}>>>>))'
    yield '        /\\ repair__\' = <<"unseen", Place__(chain)>>'
    yield f"    \\/ \\E chain \\in DOMAIN progress, place \\in 1..{NEAR} :"
    yield "        /\\ progress[chain] + place <= Len(RecordedChains[chain])"
    yield "        /\\ TakeRecorded(RecordedChains[chain][progress[chain] + place])"
    yield "        /\\ UNCHANGED <<progress, recording>>"
    yield "        /\\ ShowsRecorded(RecordedChains[chain][progress[chain] + place])"
    yield '        /\\ repair__\' = <<"early", <<chain, progress[chain] + place>>, progress>>'
    for action, domains in spec.actions.items():
        yield f"    \\/ {_bounds(domains)}{_call(action, domains)} /\\ UNCHANGED <<progress, recording>>"
        yield f'        /\\ repair__\' = <<"insert", "{action}", <<{", ".join(domains)}>>, progress>>'
    yield "ExplanationNext__ == ((GoOn__ /\\ UNCHANGED repair__) \\/ (Near__ /\\ Repair__)) /\\ UNCHANGED probed"
    yield "ExplanationSpec__ == ValidationInit /\\ repair__ = <<>>"
    yield "    /\\ [][ExplanationNext__]_<<vars, progress, probed, recording, repair__>>"


def _guards(spec: Spec, lens: Lens, actions: Mapping[str, Definition]) -> Iterator[str]:
    """Number the first guard of a step's action that is false, from 1; 0: none is, or the lens takes it otherwise."""
    cases = []
    for action, domains in spec.actions.items():
        definition = actions.get(action)
        if definition is None or action not in lens.taken.get(action, action):
            continue
        parameters = f"({', '.join(definition.params)})" if definition.params else ""
        arguments = f"({', '.join(f'step.{name}' for name in domains)})" if domains else ""
        test = ""
        for index, conjunct in guards_of(definition):
            yield f"Guard__{action}__{index}{parameters} ==\n{conjunct.code}"
            test += f"IF ~Guard__{action}__{index}{arguments} THEN {index + 1} ELSE "
        cases.append(f'step.action = "{action}" -> {test}0')
    yield f"FirstFalse__(step) == CASE {' [] '.join([*cases, 'OTHER -> 0'])}"


def guards_of(definition: Definition) -> Iterator[tuple[int, Conjunct]]:
    """Give the conjuncts that speak of one state, each with its index."""
    return ((index, conjunct) for index, conjunct in enumerate(definition.conjuncts) if conjunct.is_guard)


def _enabled(spec: Spec) -> Iterator[str]:
    """Give of each action the set of what it can be taken with; one set of all might mix what TLC cannot compare."""
    for action, domains in spec.actions.items():
        if not domains:
            yield f'"{action}", IF ENABLED {action} THEN {{<<>>}} ELSE {{}}'
            continue
        among = " \\X ".join(domains.values())
        arguments = ", ".join(f"q[{place}]" for place in range(1, len(domains) + 1)) if len(domains) > 1 else "q"
        each = "p" if len(domains) > 1 else "<<p>>"
        yield f'"{action}", {{{each} : p \\in {{q \\in {among} : ENABLED {action}({arguments})}}}}'


def _bounds(domains: Mapping[str, str]) -> str:
    quantified = ", ".join(f"{name} \\in {domain}" for name, domain in domains.items())
    return f"\\E {quantified} : " if quantified else ""


def _call(action: str, domains: Mapping[str, str]) -> str:
    return f"{action}({', '.join(domains)})" if domains else action
