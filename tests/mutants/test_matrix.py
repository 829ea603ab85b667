"""The matrix: what became of each mutant, and what it comes to, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.workflows import mutating
from omni_ipc.workflows.mutants import matrix as matrices
from omni_ipc.workflows.mutants.attacks import Kind
from omni_ipc.workflows.mutants.catalogue import catalogue
from omni_ipc.workflows.mutants.judged import Judged
from omni_ipc.workflows.mutants.matrix import Noticed
from tests.mutants.small import LOST, SENT, Small, attack

MATRIX = {
    "serving/a.py:A.run:lock-removed": Noticed("1", "conform A", Kind.CONFORM),
    "serving/a.py:A.run:lock-removed-2": Noticed("2", "explore a", Kind.EXPLORE),
    "serving/a.py:A.run:swapped": Noticed("3", "pytest a", Kind.TESTS),
    "transport/b.py:B.run:swapped": Noticed("4", tried=2),
    "transport/b.py:B.run:wake-dropped": Noticed("5"),
}
JUDGED = {
    "transport/b.py:B.run:swapped": Judged("4", equivalent=True, why="Nobody can tell."),
    "transport/b.py:B.run:wake-dropped": Judged("another text", equivalent=True, why="It was no fault."),
    "serving/a.py:A.run:lock-removed": Judged("1", equivalent=True, why="So it was thought."),
}


def test_the_share_is_that_of_the_faults_noticed_by_models_and_explorations() -> None:
    """One that is noticed is a fault, whatever was judged; a judgement of another text is void."""
    told = matrices.tables(MATRIX, JUDGED)
    assert "Of 5 mutants 1 are no faults. Of the 4 others **2 (50.0%)**" in told
    assert "Tests alone notice 1, and nobody 1." in told
    assert "| serving/a | 3 | 1 | 1 | 1 |  |  |" in told
    assert "| transport/b | 2 |  |  |  | 1 | 1 |" in told
    assert "| `explore a` | 1 | lock removed 1 |" in told


def test_a_survivor_is_excused_by_what_was_said_of_it_and_of_no_earlier_text() -> None:
    """Of one that is a fault, what was said; of one whose text is another by now, that this is void."""
    name = "transport/b.py:B.run:wake-dropped"
    told = matrices.tables(MATRIX, JUDGED)
    assert f"* `{name}`: what tests/mutants/judged.json says of it is of an earlier text, and void." in told
    assert "It was no fault." not in told
    known = Judged("5", equivalent=False, why="A lost wake-up of a moment.")
    assert f"* `{name}`: A lost wake-up of a moment." in matrices.tables(MATRIX, {name: known})
    assert f"* `{name}`: nobody has judged it yet." in matrices.tables(MATRIX, {})


def test_what_a_campaign_came_to_is_kept_in_file_and_page(tmp_path: Path) -> None:
    """Of all mutants, those that survived, too; the text around the tables stays."""
    small = Small(tmp_path)
    fates = small.run(attack("sees", "assert thing.sent"))
    checkout = tmp_path / "kept"
    (checkout / "docs").mkdir(parents=True)
    page = checkout / matrices.PAGE
    page.write_text(f"before\n{matrices.BEGIN}old\n{matrices.END}after\n")
    mutants = catalogue(small.root)
    matrices.record(checkout, mutants, [fates[mutant.name] for mutant in mutants], {})
    kept = matrices.load(checkout)
    assert (kept[SENT].attack, kept[LOST].attack, kept[LOST].tried) == ("sees", None, 1)
    assert page.read_text() == f"before\n{matrices.BEGIN}{matrices.tables(kept, {})}{matrices.END}after\n"


def test_a_page_without_its_place_and_a_part_of_the_mutants_are_refused(tmp_path: Path) -> None:
    """What is told would not be of all."""
    with pytest.raises(UsageError, match="has lost its tables"):
        matrices.with_tables("no place", MATRIX, {})
    with pytest.raises(UsageError, match="Leave the pattern out"):
        mutating.mutate(tmp_path, only="serving/*", by=[], jobs=1, progress=lambda *_: None, record=True)
    with pytest.raises(UsageError, match="Cannot read"):
        matrices.load(tmp_path)
