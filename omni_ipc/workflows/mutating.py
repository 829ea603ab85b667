"""Who notices which faults of the product: a campaign of mutants, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import Verdict
from omni_ipc.workflows.mutants import judged as judgements
from omni_ipc.workflows.mutants import matrix
from omni_ipc.workflows.mutants.attacks import How, Kind, attacks
from omni_ipc.workflows.mutants.campaign import Campaign, Progress
from omni_ipc.workflows.mutants.catalogue import Mutant, catalogue
from omni_ipc.workflows.mutants.notes import Fate, Notes
from omni_ipc.workflows.mutants.tree import digest, find_checkout

GOAL = 0.95  # of the mutants that are faults, by conformance and exploration alone


class Row(msgspec.Struct, frozen=True):
    """What became of the mutants of one kind of fault."""

    fault: str
    mutants: int
    killed: dict[str, int]  # kind of attack -> mutants that it killed first
    equivalent: int
    survived: int


class Survivor(msgspec.Struct, frozen=True):
    """A mutant that nobody noticed."""

    mutant: str
    digest: str
    diff: str
    tried: tuple[str, ...]  # the attacks that run its lines
    undecided: tuple[str, ...]  # those of them that came to no end in time, or not on the product either
    judged: str | None  # why it is no fault, or is one that is not noticed; None if nobody has looked at it


class Mutated(msgspec.Struct, frozen=True):
    """A campaign, or what has been done of it."""

    verdict: Verdict
    share: float  # of the mutants that are faults, killed by conformance or exploration
    rows: tuple[Row, ...]
    survivors: tuple[Survivor, ...]  # and those that tests alone killed are not among them
    by_tests_alone: tuple[str, ...]
    unusable: tuple[str, ...]  # attacks that fail on the product as it is
    fates: tuple[Fate, ...]


def mutants(only: str | None = None) -> tuple[Mutant, ...]:
    """All mutants, or those whose names fit a pattern."""
    return catalogue(find_checkout(), only)


def kinds(names: Sequence[str] | None) -> tuple[Kind, ...]:
    """Give the kinds of attacks of these names, or all.

    Raises:
        UnknownName: there is no such kind.
    """
    if unknown := [name for name in names or () if name not in set(Kind)]:
        raise UnknownName("kind of attack", unknown[0], list(Kind))
    return tuple(kind for kind in Kind if names is None or kind in names)


def mutate(
    folder: Path, *, only: str | None, by: Sequence[Kind], jobs: int, progress: Progress, record: bool = False
) -> Mutated:
    """Attack mutants, and go on with what the folder holds.

    Args:
        by: the kinds of attacks; another time, others may follow.
        record: what becomes of them, in the checkout's matrix and on its page; of all, and not of some alone.

    Raises:
        UsageError: the folder holds a campaign against another state of the checkout; or no mutant has such a name; or
            ``jobs`` is not positive; or some alone are to be recorded.
        EnvironmentMissing: coverage is not installed.
        KeyboardInterrupt: somebody ended it; says what is kept.
    """
    if jobs < 1:
        raise UsageError(f"jobs must be positive, and is {jobs}. Leave it out for two attacks at a time.")
    if record and only is not None:
        raise UsageError("The matrix is of all mutants. Leave the pattern out; what is known is not done again.")
    checkout = find_checkout()
    judged = judgements.load(checkout)
    notes = Notes(folder, digest(checkout))
    chosen = catalogue(checkout, only)
    able = [attack for attack in attacks(checkout) if attack.kind in by]
    try:
        fates = Campaign(notes, checkout, jobs=jobs).run(chosen, able, progress)
    except KeyboardInterrupt:
        if notes.is_kept:
            raise KeyboardInterrupt(f"'{folder}' holds the campaign: the same command goes on with it.") from None
        raise
    if record:
        matrix.record(checkout, chosen, fates, judged)
    unusable = tuple(name for name, reach in notes.reach.items() if reach.how is not How.NOTHING)
    return summed(chosen, fates, judged, unusable)


def summed(
    chosen: Sequence[Mutant], fates: Sequence[Fate], judged: dict[str, judgements.Judged], unusable: tuple[str, ...]
) -> Mutated:
    """Sum up what became of mutants."""
    said = {mutant.name: judgements.judgement_of(mutant.name, mutant.digest, judged) for mutant in chosen}
    equivalent = {name for name, judgement in said.items() if judgement is not None and judgement.equivalent}
    of = dict(zip((mutant.name for mutant in chosen), fates, strict=True))
    rows = tuple(
        _row(fault, [m for m in chosen if m.edit.operator == fault], of, equivalent)
        for fault in sorted({mutant.edit.operator for mutant in chosen})
    )
    faults = [mutant for mutant in chosen if mutant.name not in equivalent or of[mutant.name].killer]
    by_tests = tuple(m.name for m in faults if (killer := of[m.name].killer) and killer.kind is Kind.TESTS)
    survivors = [mutant for mutant in faults if not of[mutant.name].killer]
    share = 1 - (len(by_tests) + len(survivors)) / len(faults) if faults else 1.0
    return Mutated(
        verdict=Verdict.BOUNDED if share >= GOAL else Verdict.VIOLATED,
        share=share,
        rows=rows,
        survivors=tuple(_survivor(mutant, of[mutant.name], said[mutant.name]) for mutant in survivors),
        by_tests_alone=by_tests,
        unusable=unusable,
        fates=tuple(fates),
    )


def _row(fault: str, mutants: Sequence[Mutant], fates: dict[str, Fate], equivalent: set[str]) -> Row:
    killers = [killer for mutant in mutants if (killer := fates[mutant.name].killer)]
    alive = [mutant.name for mutant in mutants if not fates[mutant.name].killer]
    return Row(
        fault=fault,
        mutants=len(mutants),
        killed={kind: sum(killer.kind is kind for killer in killers) for kind in Kind},
        equivalent=sum(name in equivalent for name in alive),
        survived=sum(name not in equivalent for name in alive),
    )


def _survivor(mutant: Mutant, fate: Fate, judgement: judgements.Judged | None) -> Survivor:
    return Survivor(
        mutant=mutant.name,
        digest=mutant.digest,
        diff=mutant.diff,
        tried=tuple(each.attack for each in fate.tried),
        undecided=tuple(each.attack for each in fate.tried if each.how is How.UNDECIDED),
        judged=judgement.why if judgement is not None else None,
    )
