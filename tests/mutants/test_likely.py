"""Which attack comes next."""

from __future__ import annotations

from pathlib import Path

from omni_ipc.workflows.mutants.attacks import Attack, How, Kind
from omni_ipc.workflows.mutants.catalogue import Mutant, catalogue
from omni_ipc.workflows.mutants.likely import untried
from omni_ipc.workflows.mutants.notes import Fate, Tried
from omni_ipc.workflows.mutants.reach import Reach
from tests.mutants.small import Small

ATTACKS = [
    Attack("test", Kind.TESTS, ()),
    Attack("slow", Kind.CONFORM, ()),
    Attack("quick", Kind.CONFORM, ()),
    Attack("search", Kind.EXPLORE, ()),
]
PATH = "omni_ipc/serving/thing.py"


def reached(**seconds: float) -> dict[str, Reach]:
    """What attacks did on the product: all of them run all of its lines."""
    return {name: Reach(name, took, How.NOTHING, {PATH: [*range(1, 20)]}) for name, took in seconds.items()}


def fate(mutant: str, *tried: tuple[str, How], path: str = PATH) -> Fate:
    """A mutant of the same module, unless told otherwise, that was attacked."""
    return Fate(mutant, path, "digest", tuple(Tried(name, Kind.CONFORM, how, 1.0) for name, how in tried))


def names(mutant: Mutant, reach: dict[str, Reach], *fates: Fate) -> list[str]:
    """Attacks in the order in which they would be tried."""
    return [attack.name for attack in untried(mutant, ATTACKS, reach, fates)]


def test_kinds_come_first_then_the_quick_then_what_has_killed_there(tmp_path: Path) -> None:
    """Kills of other modules say nothing."""
    mutant = catalogue(Small(tmp_path).root)[0]
    reach = reached(test=0.1, slow=2.0, quick=1.0, search=0.1)
    assert names(mutant, reach) == ["quick", "slow", "search", "test"]
    killed = [("quick", How.NOTHING), ("slow", How.FAILED)]
    assert names(mutant, reach, *[fate(f"m{number}", *killed) for number in range(4)]) == [
        "slow",
        "quick",
        "search",
        "test",
    ]
    elsewhere = [fate(f"m{number}", *killed, path="omni_ipc/serving/other.py") for number in range(4)]
    assert names(mutant, reach, *elsewhere) == ["quick", "slow", "search", "test"]


def test_what_was_tried_or_cannot_notice_is_left_out(tmp_path: Path) -> None:
    """It fails on the product itself, or does not come there."""
    mutant = catalogue(Small(tmp_path).root)[0]
    reach = reached(test=1.0, slow=1.0, quick=1.0, search=1.0)
    reach["test"] = Reach("test", 1.0, How.FAILED, {PATH: [*range(1, 20)]})
    reach["slow"] = Reach("slow", 1.0, How.NOTHING, {PATH: [1]})
    assert names(mutant, reach, fate(mutant.name, ("quick", How.UNDECIDED))) == ["search"]
