"""Which lines an attack runs, by what its processes leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from omni_ipc.workflows.mutants.reach import lines_run

coverage = pytest.importorskip("coverage")


@pytest.mark.parametrize("torn", [b"", b"SQLite", b"SQLite format 3\0" + bytes(100)])
def test_what_a_killed_process_left_costs_the_lines_of_no_other(torn: bytes, tmp_path: Path) -> None:
    """Attacks kill workers, also while these write down where they have been."""
    tree, folder = tmp_path / "tree", tmp_path / "left"
    folder.mkdir()
    whole = coverage.CoverageData(str(folder / "lines.1"))
    whole.add_lines({str(tree / "omni_ipc/transport/bell.py"): [3, 1]})
    whole.close()
    (folder / "lines.2").write_bytes(torn)
    assert lines_run(tree, folder) == {"omni_ipc/transport/bell.py": [1, 3]}
    assert not list(folder.glob("lines.*"))
