"""Mutants of a spec that leave out a conjunct, and the claims that notice."""

from __future__ import annotations

import pytest

from omni_ipc.conformance.claims.sweep import STUCK, Mutant, Swept, _searched, sweep
from omni_ipc.conformance.claims.vacuity import claims
from omni_ipc.conformance.models.manifest import Manifest, Role, load
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.result import Kind, Result
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive

SMALL = ("SplitMap", "FutureOrphan", "DualWriterRing")


@pytest.fixture(scope="module")
def swept(doors: Manifest, toolchain: Toolchain) -> Swept:
    (model,) = doors.select(["Door/design"])
    with Children() as children:
        return sweep(model, doors, toolchain=toolchain, children=children)


def test_each_mutant_is_told_with_the_claims_that_notice_it(swept: Swept) -> None:
    """A guard that is dropped, and an update; by text and place."""
    noticed = {claim: {mutant.text for mutant in mutants} for claim, mutants in swept.noticed.items()}
    assert noticed["OpenedByKeyInv"] >= {"holds[person] # {}"}
    assert Mutant("PersonOpen", 1, "holds[person] # {}", "Door.tla:33", None) in swept.noticed["OpenedByKeyInv"]
    assert noticed[STUCK], "an open door is the end of it"
    told = {mutant for mutants in swept.noticed.values() for mutant in mutants} | {*swept.failed, *swept.unnoticed}
    assert {mutant.variable for mutant in told} == {None, "open", "holds"}
    assert len(told) == 8


def test_what_tlc_cannot_evaluate_is_searched_for_by_halves() -> None:
    """The others are searched nevertheless."""
    asked: list[list[int]] = []

    def search(numbers: list[int]) -> Result | str:
        asked.append(list(numbers))
        return Result(Kind.EVALUATION, "") if {2, 5} & set(numbers) else f"{list(numbers)} "

    printed, failed = _searched(search, range(8))  # type: ignore[arg-type]
    assert sorted(failed) == [2, 5]
    assert sorted(printed.split()) == ["1]", "7]", "[0,", "[3]", "[4]", "[6,"]
    with pytest.raises(Inconclusive, match=r"The mutants could not be searched: line 3\."):
        _searched(lambda _: Result(Kind.SYNTAX, "line 3"), range(8))
    with pytest.raises(Inconclusive, match=r"TLC did not come to the end of mutant 7: killed\."):
        _searched(lambda _: Result(Kind.TRUNCATED, "killed"), range(8))


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_each_invariant_of_the_spine_is_noticed_by_a_bug_model_or_a_mutant(
    toolchain: Toolchain, children: Children
) -> None:
    """And of each action that has a guard, some mutant is noticed."""
    manifest = load()
    known = {(claim.spec, claim.name): claim.fails_in for claim in claims(manifest)}
    for spec in SMALL:
        (model,) = (model for model in manifest.models if model.spec == spec and model.role is Role.DESIGN)
        swept = sweep(model, manifest, toolchain=toolchain, children=children)
        assert all(mutants or known.get((spec, claim), True) for claim, mutants in swept.noticed.items())
        assert swept.noticed[STUCK]
