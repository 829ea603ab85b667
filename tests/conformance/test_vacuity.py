"""No claim of a model is one that cannot fail."""

from __future__ import annotations

import re

import msgspec
import pytest

from omni_ipc.conformance.claims.vacuity import Claim, claims, claims_page, sentence_of
from omni_ipc.conformance.models.manifest import Manifest, Role


def test_each_claim_fails_in_some_bug_model(manifest: Manifest) -> None:
    """One that none of them violates claims nothing; make a mutant that does, or drop it."""
    assert [f"{claim.spec}: {claim.name}" for claim in claims(manifest) if not claim.fails_in] == []


def test_each_claim_is_said_in_english(manifest: Manifest) -> None:
    """By one sentence above it."""
    for claim in claims(manifest):
        assert re.match(r"[A-Z].*\.$", claim.sentence), f"{claim.spec}: {claim.name}"


def test_the_page_of_claims_is_that_of_the_manifest(manifest: Manifest) -> None:
    """If this fails: omni-ipc spec sync."""
    assert (manifest.folder / "CLAIMS.md").read_text() == claims_page(manifest)


@pytest.fixture
def late_split_map(manifest: Manifest) -> Manifest:
    """Of all bug models only this one."""
    kept = [
        model
        for model in manifest.models
        if model.spec == "SplitMap" and (model.role is not Role.BUG or model.name == "SplitMap/bug/late_split_map")
    ]
    return Manifest(manifest.folder, manifest.specs, tuple(kept))


def test_a_claim_that_nothing_violates_is_found(late_split_map: Manifest) -> None:
    """By its name, with who claims it; the page says so."""
    found = {claim.name: claim for claim in claims(late_split_map)}
    assert found["NoStrandedOutputInv"] == Claim(
        spec="SplitMap",
        name="NoStrandedOutputInv",
        sentence="No output lies in the table, split or unsplit, while its consumer waits and its map is known.",
        models=("SplitMap/design",),
        fails_in=("SplitMap/bug/late_split_map",),
    )
    assert found["RefinesProp"].sentence == "It does what `abs/Delivery.tla` allows and promises."
    assert [name for name, claim in found.items() if not claim.fails_in] == [
        "SecondComerSplitsInv",
        "FuturesAreWaitersInv",
        "NothingLeftInv",
        "EveryWaitServedProp",
        "RefinesProp",
    ]
    assert "| `RefinesProp` | It does what `abs/Delivery.tla` allows and promises. | **nowhere** |" in claims_page(
        late_split_map
    )


def test_a_design_that_implements_another_one_says_where_that_is(manifest: Manifest) -> None:
    """Beside it, and not among the abstract ones."""
    said = sentence_of("RefinesProp", "MCDualWriterStores", manifest)
    assert said == "It does what `DualWriterRing.tla` allows and promises."


def test_a_failure_of_another_spec_shows_nothing(late_split_map: Manifest) -> None:
    """Though its claim has the same name."""
    stray = msgspec.structs.replace(late_split_map.models[0], spec="FutureOrphan", role=Role.BUG)
    models = tuple(model for model in late_split_map.models if model.role is not Role.BUG)
    manifest = Manifest(late_split_map.folder, late_split_map.specs, (*models, stray))
    assert not any(claim.fails_in for claim in claims(manifest))
