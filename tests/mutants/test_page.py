"""docs/mutants.md: its command says what it shows, and its table has all kinds of faults."""

from __future__ import annotations

import re
from pathlib import Path

from omni_ipc.workflows.mutants import judged as judgements
from omni_ipc.workflows.mutants import matrix as matrices
from omni_ipc.workflows.mutants.catalogue import catalogue
from tests.support.documents import DOCS, ROOT, check_commands

PAGE = (DOCS / "mutants.md").read_text()


def test_commands_of_the_page_say_what_they_should(tmp_path: Path) -> None:
    """As a reader would run them."""
    folder = tmp_path / "reader"
    folder.mkdir()
    check_commands(PAGE, folder, width=96)


def test_the_page_tells_all_kinds_of_faults_and_each_judgement_says_why() -> None:
    """None that is not made, either."""
    (table,) = re.findall(r"\| kind \| what is done \|\n\| --- .*\n((?:\|.*\n)+)", PAGE)
    told = {kind.strip() for row in table.splitlines() for kind in row.split("|")[1].split(",")}
    made = {mutant.edit.operator for mutant in catalogue(ROOT)}
    assert {kind if kind != "given back early" else f"lock {kind}" for kind in told} == made
    for name, judged in judgements.load(ROOT).items():
        assert len(judged.why) > 20, name


def test_the_tables_of_the_page_are_those_of_the_matrix() -> None:
    """As it was recorded, with what was judged since; and each survivor was judged."""
    matrix, judged = matrices.load(ROOT), judgements.load(ROOT)
    assert matrices.with_tables(PAGE, matrix, judged) == PAGE, "Run: omni-ipc mutants --record"
    assert [name for name, noticed in matrix.items() if noticed.by is None and name not in judged] == []
    assert len(matrix) >= 150
