"""Definitions with their conjuncts, read by TLA+'s own parser."""

from __future__ import annotations

import pytest

from omni_ipc.conformance.models.manifest import Manifest
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.result import Place
from omni_ipc.conformance.tlc.syntax import Definition, read_definitions
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive


@pytest.fixture(scope="module")
def definitions(doors: Manifest, toolchain: Toolchain) -> dict[str, Definition]:
    text = (doors.folder / "MCDoor.tla").read_text()
    with Children() as children:
        return read_definitions("MCDoor", text, doors, toolchain=toolchain, children=children)


def test_guards_are_told_from_the_rest(definitions: dict[str, Definition]) -> None:
    """In a list and in a line; with the variables that they depend on, by way of other definitions, too."""
    take = definitions["PersonTake"]
    assert (take.params, take.place) == (("person",), Place("Door", 23))
    assert [(conjunct.text, conjunct.is_guard, conjunct.variables) for conjunct in take.conjuncts] == [
        ("holds[person] = {}", True, ("holds",)),
        ("Free # {}", True, ("holds",)),
        ("~open", True, ("open",)),
        ("holds' = [holds EXCEPT ![person] = {key}]", False, ("holds",)),
        ("UNCHANGED open", False, ("open",)),
    ]
    assert [conjunct.text for conjunct in definitions["PersonOpen"].conjuncts] == [
        "~open",
        "holds[person] # {}",
        "open' = TRUE",
        "UNCHANGED holds",
    ]
    assert [conjunct.is_guard for conjunct in definitions["PersonGive"].conjuncts] == [True, False]
    assert "PersonOpen_Bug" in definitions
    assert "Nat" not in definitions, "it is not ours"


def test_a_conjunct_carries_the_let_around_it(definitions: dict[str, Definition]) -> None:
    """So it can be evaluated on its own, and its columns are kept."""
    *_, changes, _ = definitions["PersonTake"].conjuncts
    assert changes.code == (
        "    LET key == CHOOSE key \\in Free : TRUE\n    IN  /\\ \n".replace("/\\ \n", "\n")
        + "           holds' = [holds EXCEPT ![person] = {key}]"
    )


def test_claims_are_said_in_english(definitions: dict[str, Definition]) -> None:
    """By the last sentence above; without one, by the claim itself."""
    sentences = {name: definitions[name].sentence for name in ("OpenedByKeyInv", "OpensProp", "PersonOpen", "ShutInv")}
    assert sentences == {
        "OpenedByKeyInv": "An open door has somebody with a key.",
        "OpensProp": "The door is opened in the end.",
        "PersonOpen": "Who holds a key opens the door.",
        "ShutInv": "~open",
    }
    assert [conjunct.comment for conjunct in definitions["TypeOK"].conjuncts] == [
        "The door is open or shut.",
        "Nobody holds what is no key.",
    ]


def test_a_universal_claim_knows_of_what_it_speaks(definitions: dict[str, Definition]) -> None:
    """The names of its quantifiers, one inside of the other."""
    (claim,) = definitions["KeysApartInv"].conjuncts
    assert claim.universal is not None
    assert claim.universal.names == ("one", "other")
    (claim,) = definitions["ShutInv"].conjuncts
    assert claim.universal is None


def test_a_module_that_does_not_parse_is_told(doors: Manifest, toolchain: Toolchain, children: Children) -> None:
    """What is wrong with it, a check tells."""
    text = "---- MODULE Broken ----\nA == undefined\n====\n"
    with pytest.raises(Inconclusive, match="The module Broken could not be read as XML"):
        read_definitions("Broken", text, doors, toolchain=toolchain, children=children)
