"""Mutants of a spec, made by leaving out one conjunct of one action, and the claims that notice.

    guard dropped       ~open is no longer asked for
    update dropped      open' = TRUE becomes open' = open

All mutants of a model are searched in one run of TLC: which one it is, is a variable that never changes. A claim that
none of them violates, and no bug model either, is one that nothing hangs on. A state in which types are wrong has no
successors, nor has one that is much deeper than the model's own, so that each search ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Manifest, Model
from omni_ipc.conformance.models.values import parse_printed
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc import labels
from omni_ipc.conformance.tlc.java import run_java
from omni_ipc.conformance.tlc.output import messages, parse_output
from omni_ipc.conformance.tlc.result import Kind, Result
from omni_ipc.conformance.tlc.running import module_text
from omni_ipc.conformance.tlc.syntax import Definition, read_definitions
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive

_MODULE = "Sweep"
_MUTANT = "mutant__"
_TAG = "noticed__"
_TYPES = "TypeOK"
STUCK = "no stuck state"
"""The claim of each design model that needs no name: somebody can go on, or all are done."""
_OPTIONS = ("-metadir", "states", "-fp", "0", "-workers", "1", "-deadlock", "-tool")
_UPDATE = re.compile(r"(\w+)' =")
_DEEPER = 3  # steps beyond the deepest state of the model itself
_DEEPEST = 30  # of a model whose depth is not known


class Mutant(msgspec.Struct, frozen=True):
    """One conjunct of one action, left out."""

    action: str
    conjunct: int  # its index
    text: str
    where: str  # "SplitMap.tla:88"
    variable: str | None  # that is no longer changed; None: it is a guard

    def __str__(self) -> str:
        return f"{self.action} without {self.text} ({self.where})"


class Swept(msgspec.Struct, frozen=True):
    """What became of the mutants of one model."""

    model: str
    noticed: dict[str, tuple[Mutant, ...]]  # invariant -> mutants that violate it
    failed: tuple[Mutant, ...]  # on which TLC gave up: they are noticed, too, though by no claim
    unnoticed: tuple[Mutant, ...]


def sweep(model: Model, manifest: Manifest, *, toolchain: Toolchain, children: Children) -> Swept:
    """Search all mutants of a model for violations of its invariants.

    Raises:
        Inconclusive: TLC did not come to its end.
        UsageError: the model is broken.
        EnvironmentMissing: Java cannot be started, or there is no temporary folder.
    """
    text = module_text(model, manifest)
    definitions = read_definitions(model.module, text, manifest, toolchain=toolchain, children=children)
    spec = manifest.specs[model.spec]
    mutants = tuple(mutant for action in spec.actions for mutant in _mutants(definitions[action]))
    configuration = Configuration.load(manifest.folder / model.cfg)
    writer = _Writer(model, manifest, configuration, definitions, mutants)

    def search(numbers: Sequence[int]) -> Result | str:
        run = run_java(
            "tlc2.TLC",
            (*_OPTIONS, "-config", f"{_MODULE}.cfg", _MODULE),
            {f"{_MODULE}.tla": writer.module(numbers), f"{_MODULE}.cfg": _configuration_text(configuration)},
            library=manifest.library(),
            toolchain=toolchain,
            children=children,
            budget_s=model.budget_s,
        )
        result = parse_output(run.ended.output)
        return messages(run.ended.output)[-1].text if result.kind is Kind.SUCCESS else result

    printed, failed = _searched(search, range(len(mutants)))
    return _swept(model, configuration, mutants, failed, printed)


def _searched(search: Callable[[Sequence[int]], Result | str], numbers: Sequence[int]) -> tuple[str, list[int]]:
    """Search mutants, in halves where TLC gives up, which it does because of one; give what was printed, and these.

    Raises:
        Inconclusive: it gives up on all, or is killed, or out of its time, over one.
    """
    failed: list[int] = []
    printed = ""
    left = [numbers]
    while left:
        some = left.pop()
        found = search(some)
        if isinstance(found, str):
            printed += found
        elif found.kind in (Kind.SYNTAX, Kind.CONFIGURATION):
            raise Inconclusive(f"The mutants could not be searched: {found.message}.")
        elif len(some) == 1 and found.kind is Kind.TRUNCATED:
            raise Inconclusive(f"TLC did not come to the end of mutant {some[0]}: {found.message}.")
        elif len(some) == 1:
            failed += some
        else:
            left += [some[: len(some) // 2], some[len(some) // 2 :]]
    return printed, failed


def _mutants(definition: Definition) -> Iterator[Mutant]:
    for index, conjunct in enumerate(definition.conjuncts):
        update = _UPDATE.match(conjunct.text)
        if conjunct.is_guard or update:
            where = f"{conjunct.place.module}.tla:{conjunct.place.line}"
            yield Mutant(definition.name, index, conjunct.text, where, update[1] if update else None)


class _Writer:
    """Writes the module that has all mutants in it."""

    def __init__(
        self,
        model: Model,
        manifest: Manifest,
        configuration: Configuration,
        definitions: Mapping[str, Definition],
        mutants: Sequence[Mutant],
    ) -> None:
        self._model = model
        self._spec = manifest.specs[model.spec]
        self._configuration = configuration
        self._definitions = definitions
        self._mutants = mutants

    def module(self, living: Sequence[int]) -> str:
        known = labels.instances(self._model, self._spec, self._configuration)
        mutated = {self._mutants[number].action for number in living}
        calls = [
            instance.action
            + ("__m" if instance.action in mutated else "")
            + _arguments([self._configuration.literal(value) for value in instance.params.values()])
            for instance in known
        ]
        claims = self._configuration.invariants
        deepest = (self._model.expect.depth or _DEEPEST) + _DEEPER
        finished = [self._spec.termination] if self._spec.termination else []
        return "\n".join(
            [
                f"---- MODULE {_MODULE} ----",
                f"EXTENDS {self._model.module}, TLC",
                *(f"CONSTANT {name}" for name in self._configuration.undeclared),
                f"VARIABLE {_MUTANT}",
                *(f"ASSUME TLCSet({number}, {{}})" for number in range(len(claims) + 1)),
                *(line for action in self._spec.actions for line in self._action(action, living)),
                f"Init__m == {_MUTANT} \\in {{{', '.join(map(str, living))}}} /\\ Init",
                "Step__m ==",
                *(f"    \\/ {call}" for call in (*calls, *finished)),
                f"Next__m == {_MUTANT}' = {_MUTANT} /\\ Step__m",
                "Notice__(claim__) ==",
                f"    IF {_MUTANT} \\in TLCGet(claim__) THEN TRUE",
                f'    ELSE /\\ PrintT(<<"{_TAG}", claim__, {_MUTANT}>>)',
                f"         /\\ TLCSet(claim__, TLCGet(claim__) \\cup {{{_MUTANT}}})",
                "Told__ ==",
                "    /\\ ((ENABLED Step__m) \\/ Notice__(0))",
                *(f"    /\\ ({claim} \\/ Notice__({number}))" for number, claim in enumerate(claims, start=1)),
                f'Sound__ == {_TYPES if _TYPES in claims else "TRUE"} /\\ TLCGet("level") # {deepest + 1}',
                "====",
                "",
            ]
        )

    def _action(self, action: str, living: Sequence[int]) -> Iterator[str]:
        """The action with whichever conjunct left out that the mutant leaves out."""
        definition = self._definitions[action]
        own = [number for number in living if self._mutants[number].action == action]
        if not own:
            return
        parameters = _arguments(definition.params)
        for index, conjunct in enumerate(definition.conjuncts):
            yield f"{action}__{index}{parameters} ==\n{conjunct.code}"
        yield f"{action}__m{parameters} =="
        for index in range(len(definition.conjuncts)):
            without = next((number for number in own if self._mutants[number].conjunct == index), None)
            call = f"{action}__{index}{parameters}"
            if without is not None:
                variable = self._mutants[without].variable
                instead = f"{variable}' = {variable}" if variable else "TRUE"
                call = f"IF {_MUTANT} = {without} THEN {instead} ELSE {call}"
            yield f"    /\\ {call}"


def _arguments(words: Sequence[str]) -> str:
    return f"({', '.join(words)})" if words else ""


def _configuration_text(configuration: Configuration) -> str:
    constants = [
        *(f"    {name} = {value}" for name, value in configuration.assigned.items()),
        *(f"    {name} = {name}" for name in configuration.undeclared),
        *(f"    {name} <- {value}" for name, value in configuration.overrides.items()),
    ]
    lines = [*(["CONSTANTS", *constants] if constants else []), "INIT Init__m", "NEXT Next__m"]
    return "\n".join([*lines, "INVARIANT Told__", "CONSTRAINT Sound__", ""])


def _swept(
    model: Model, configuration: Configuration, mutants: Sequence[Mutant], failed: Sequence[int], printed: str
) -> Swept:
    claims = (STUCK, *configuration.invariants)
    noticed: dict[str, list[Mutant]] = {claim: [] for claim in claims}
    seen = set(failed)
    for _, claim, number in parse_printed(printed, _TAG):
        assert isinstance(claim, int), "the form in which it was printed"
        assert isinstance(number, int), "the form in which it was printed"
        noticed[claims[claim]].append(mutants[number])
        seen.add(number)
    return Swept(
        model=model.name,
        noticed={claim: tuple(found) for claim, found in noticed.items()},
        failed=tuple(mutants[number] for number in failed),
        unnoticed=tuple(mutant for number, mutant in enumerate(mutants) if number not in seen),
    )
