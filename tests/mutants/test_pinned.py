"""Ten faults of as many kinds and modules as there are who notices them; `make nightly` attacks all."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.conformance.processes.children import Children
from omni_ipc.workflows.mutants.attacks import Attack, How, Kind, attacks
from omni_ipc.workflows.mutants.catalogue import Mutant, catalogue
from omni_ipc.workflows.mutants.tree import Tree

ROOT = Path(__file__).parents[2]

PINNED = {
    "serving/outputs.py:OutputTable.wait:lock-taken-late": "conform FutureOrphan",
    "serving/in_flight.py:InFlight.drain:lock-removed": "conform DrainBeforeSleep",
    "serving/answers.py:AnswerTable.abandon_rpc:lock-given-back-early": "conform StaleReply",
    "serving/scheduler.py:Scheduler.admit:wake-dropped": "conform Admission",
    "serving/caller.py:Caller.ask:cleanup-skipped": "conform StaleReply",
    "serving/announcer.py:Announcer.hand_over:swapped": "conform DrainBeforeSleep",
    "serving/streams.py:OutputStream.close:update-dropped": "conform AbandonedStream",
    "serving/pump.py:ResultPump.run:while-as-if": "explore split_map",
    "transport/bell.py:Bell.ring:fence-dropped": "explore dual_writer_ring under weak memory",
    "transport/bell.py:Bell.ring:wake-dropped": "pytest tests/transport/test_controlled.py",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy of the checkout, for one mutant after the other."""
    return Tree(ROOT, tmp_path_factory.mktemp("mutants"))


@pytest.fixture
def children() -> Iterator[Children]:
    """Attacks that end with the test."""
    with Children() as running:
        yield running


@pytest.mark.parametrize("name", PINNED)
def test_a_fault_is_noticed_by_who_noticed_it_before(name: str, tree: Tree, children: Children) -> None:
    """Whoever changes code, model or test, and with it loses the one that watched, is told so."""
    mutant, attack = _mutant(name), _attack(PINNED[name])
    with tree.mutated(mutant):
        how = attack.run(tree, children, timeout_s=90.0)  # on a quiet machine it takes one or two
    assert how is How.FAILED, f"'{attack.name}' no longer notices this; {_REMEDY.format(name)}\n{mutant.diff}"
    assert attack.run(tree, children, timeout_s=90.0) is How.NOTHING, f"'{attack.name}' fails without it, too"


def test_they_are_of_many_kinds_and_most_are_noticed_by_models_and_explorations() -> None:
    """Ten at least."""
    mutants, killers = [_mutant(name) for name in PINNED], [_attack(name) for name in PINNED.values()]
    assert len(mutants) >= 10
    assert len({mutant.edit.operator for mutant in mutants}) >= 8
    assert len({mutant.path for mutant in mutants}) >= 8
    assert {attack.kind for attack in killers} == {Kind.CONFORM, Kind.EXPLORE}


_REMEDY = (
    "`omni-ipc mutants '{}'` tells who does: mend what went blind, or pin another in tests/mutants/test_pinned.py."
)


@functools.cache
def _mutants() -> dict[str, Mutant]:
    return {mutant.name: mutant for mutant in catalogue(ROOT)}


def _mutant(name: str) -> Mutant:
    if mutant := _mutants().get(name):
        return mutant
    function = name.rpartition(":")[0]
    raise AssertionError(
        f"There is no mutant '{name}' any more: the code was edited. Choose another of `omni-ipc mutants --list`, "
        f"one of '{function}:*' if it is still there; `omni-ipc mutants NAME` tells who notices it. "
        "Pin both in tests/mutants/test_pinned.py."
    )


def _attack(name: str) -> Attack:
    for attack in attacks(ROOT):
        if attack.name == name:
            return attack
    raise AssertionError(f"There is no attack '{name}' any more. {_REMEDY.format('NAME')}")
