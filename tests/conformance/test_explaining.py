"""A counterexample in a programmer's words: what is violated, and which guard should have been false."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from omni_ipc.conformance.counterexamples.explaining import Explainer
from omni_ipc.conformance.models.manifest import Manifest
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.output import parse_output
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import UsageError
from omni_ipc.violations import Claim, Violation
from tests.conformance.conftest import RECORDED
from tests.conformance.test_tlc import FakeJava, Sample


class Telling:
    """Tells the counterexamples of the doors."""

    def __init__(self, doors: Manifest, toolchain: Toolchain, children: Children) -> None:
        self._doors = doors
        self._explainer = Explainer(doors, toolchain, children)

    def __call__(self, name: str) -> Violation:
        (model,) = self._doors.select([f"Door/{name}"])
        return self._explainer.explain(model)


@pytest.fixture(scope="module")
def tell(doors: Manifest, toolchain: Toolchain) -> Iterator[Telling]:
    with Children() as children:
        yield Telling(doors, toolchain, children)


def test_the_guard_that_the_design_has_and_its_twin_has_not_is_named(tell: Telling) -> None:
    """With its place, and the values on which it is false."""
    told = tell("no_key")
    assert told.claim == Claim("OpenedByKeyInv", "An open door has somebody with a key.", "Door.tla:47")
    (step,) = told.steps
    assert told.departure is not None
    guard = told.departure.refused_by
    assert guard is not None
    assert (told.departure.step, told.departure.action) == (1, step.action)
    assert (guard.text, guard.where, guard.holds) == ("holds[person] # {}", "Door.tla:33", False)
    assert guard.values == {"holds": "[ann |-> {}, bob |-> {}]"}
    assert told.guards == ()


def test_a_claim_about_all_tells_the_exceptions(tell: Telling) -> None:
    """Which people, and the step at which the design refuses."""
    told = tell("same_key")
    assert told.claim is not None
    assert told.claim.exceptions == ('one = "ann", other = "bob"', 'one = "bob", other = "ann"')
    assert told.departure is not None
    assert told.departure.step == 2
    assert told.departure.refused_by is not None
    assert told.departure.refused_by.text == "Free # {}"


def test_a_design_that_fails_shows_the_guards_that_let_it_pass(tell: Telling) -> None:
    """All true, with their values: one of them should have been false."""
    told = tell("shut")
    assert told.claim == Claim("ShutInv", "~open", "Door.tla:52")
    assert told.departure is None
    assert [(guard.text, guard.holds) for guard in told.guards] == [("~open", True), ("holds[person] # {}", True)]
    assert told.guards[0].values == {"open": "FALSE"}


def test_a_stuck_state_tells_what_each_action_waits_for(tell: Telling) -> None:
    """The first false conjunct of each, with the values that make it false."""
    told = tell("stuck")
    assert told.claim is None
    last = {guard.action: (guard.text, guard.values["open"]) for guard in told.guards if "open" in guard.values}
    assert last == {
        **{
            f'Person{verb}(person="{person}")': ("~open", "TRUE")
            for verb in ("Open", "Give")
            for person in ("ann", "bob")
        }
    }
    assert [guard.text for guard in told.guards if "Take" in guard.action] == ["holds[person] = {}", "Free # {}"]
    assert not any(guard.holds for guard in told.guards)


def test_a_lasso_says_where_it_returns(tell: Telling) -> None:
    """Nobody opens the door: a key goes round."""
    told = tell("lasso")
    assert told.claim == Claim("OpensProp", "The door is opened in the end.", "Door.tla:56")
    assert told.loop == 0
    assert told.steps[-1].state == told.initial


def test_a_model_that_holds_has_nothing_to_tell(manifest: Manifest, toolchain: Toolchain, children: Children) -> None:
    """There is no counterexample."""
    (model,) = manifest.select(["FutureOrphan/design"])
    with pytest.raises(UsageError, match="FutureOrphan/design has no counterexample"):
        Explainer(manifest, toolchain, children).explain(model)


def test_a_counterexample_that_the_actions_of_the_manifest_do_not_lead_to_is_told_as_it_was_found(
    sample: Sample, fake_java: FakeJava, children: Children
) -> None:
    """With them nothing fails, as where Next lacks the self-step of a finished system that the manifest names."""
    model, manifest = sample(cfg="deadlock.cfg")
    found = parse_output((RECORDED / "deadlock.out").read_text())
    explainer = Explainer(manifest, fake_java(f"cat {RECORDED}/success.out"), children)
    told = explainer.explain(model, found=found)
    assert [step.action for step in told.steps] == [str(state) for state in found.trace[1:]] != []
