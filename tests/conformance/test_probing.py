"""Asking TLC about single states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from omni_ipc.conformance.counterexamples.probing import Answer, Question, probe
from omni_ipc.conformance.models.manifest import Manifest
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.syntax import Definition, read_definitions
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive
from omni_ipc.values import Value, normal

NOBODY: dict[str, frozenset[Value]] = {"ann": frozenset(), "bob": frozenset()}
KEY = frozenset({"k"})


def state(is_open: bool, **holds: frozenset[Value]) -> Mapping[str, Value]:
    return {"open": is_open, "holds": normal(NOBODY | holds)}


class Asking:
    """Asks about the doors."""

    def __init__(self, doors: Manifest, toolchain: Toolchain, children: Children) -> None:
        self._doors = doors
        self._with = {"toolchain": toolchain, "children": children}
        text = (doors.folder / "MCDoor.tla").read_text()
        self._definitions: dict[str, Definition] = read_definitions("MCDoor", text, doors, **self._with)

    def question(
        self, name: str, at: Mapping[str, Value], *arguments: Value, to: Mapping[str, Value] | None = None
    ) -> Question:
        return Question(self._definitions[name], arguments, at, to=to)

    def ask(self, model: str, *questions: Question, as_designed: bool = False) -> list[Answer | None]:
        (found,) = self._doors.select([f"Door/{model}"])
        return probe(questions, found, self._doors, as_designed=as_designed, **self._with)


@pytest.fixture(scope="module")
def asking(doors: Manifest, toolchain: Toolchain) -> Iterator[Asking]:
    with Children() as children:
        yield Asking(doors, toolchain, children)


def test_the_first_false_conjunct_is_told(asking: Asking) -> None:
    """Of guards, also within a LET, and of a conjunct that speaks of a step; the values may be model values."""
    answers = asking.ask(
        "stuck",
        asking.question("PersonTake", state(False), "ann"),
        asking.question("PersonTake", state(False, bob=KEY), "ann"),
        asking.question("PersonTake", state(True), "ann"),
        asking.question("PersonGive", state(False, bob=KEY), "ann"),
        asking.question("PersonGive", state(False, bob=KEY), "bob"),
    )
    assert [answer and answer.first_false for answer in answers] == [None, 1, 2, 1, None]


def test_of_a_universal_claim_the_exceptions_are_told(asking: Asking) -> None:
    """Each by the values of all its names; where it is true, there are none."""
    broken, true = asking.ask(
        "stuck",
        asking.question("KeysApartInv", state(False, ann=KEY, bob=KEY)),
        asking.question("KeysApartInv", state(False, ann=KEY)),
    )
    assert broken == Answer(first_false=0, exceptions=(("ann", "bob"), ("bob", "ann")))
    assert true == Answer(first_false=None)


def test_where_an_action_leads_is_told(asking: Asking) -> None:
    """As the model has it, or as it was designed: a twin is left out then."""
    question = asking.question("PersonOpen", state(False), "ann", to=state(True))
    (twin,) = asking.ask("no_key", question)
    (designed,) = asking.ask("no_key", question, as_designed=True)
    assert twin is not None
    assert (twin.leads_there, twin.successor) == (True, state(True))
    assert designed == Answer(first_false=1, leads_there=False, successor=None)
    (elsewhere,) = asking.ask("stuck", asking.question("PersonOpen", state(False, ann=KEY), "ann", to=state(False)))
    assert elsewhere == Answer(first_false=None, leads_there=False, successor=dict(state(True, ann=KEY)))


def test_what_tlc_cannot_evaluate_is_left_open(asking: Asking) -> None:
    """From there on; what it could evaluate before is told."""
    sound = asking.question("ShutInv", state(False))
    wrong = asking.question("PersonTake", state(False), "carl")
    assert asking.ask("stuck", sound, wrong, sound) == [Answer(first_false=None), None, None]
    with pytest.raises(Inconclusive, match="Door/stuck: TLC could not evaluate its parts one by one"):
        asking.ask("stuck", wrong)
    assert asking.ask("stuck") == []
