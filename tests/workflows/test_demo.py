"""The demo's cells say what came, and not what should have come."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import PeerDied
from omni_ipc.records import Verdict
from omni_ipc.workflows import demo
from omni_ipc.workflows.demo import Cell, Demo, Shown, Stage, cell_of


@pytest.mark.parametrize(
    ("defect", "reference", "brief"),
    [
        (True, True, "as it must"),
        (False, True, "the defect does not show"),
        (True, False, "the reference fails"),
        (False, False, "the defect does not show; the reference fails"),
    ],
)
def test_a_cell_is_as_expected_only_if_both_sides_are(defect: bool, reference: bool, brief: str) -> None:
    """What is wrong stands in the brief; both sentences stay."""
    shown = Shown("as it must", (defect, "seen of the defect."), (reference, "seen of the reference."))
    cell = cell_of("race", Stage.REPLAY, lambda: shown)
    assert (cell.expected, cell.brief) == (defect and reference, brief)
    assert cell.detail == ("defect: seen of the defect.", "reference: seen of the reference.")


def test_a_stage_that_cannot_be_carried_out_is_not_as_expected() -> None:
    """Its error is told in the cell, and the others still run."""

    def show() -> Shown:
        raise PeerDied("The worker process 1", "killed by SIGKILL")

    cell = cell_of("race", Stage.PROCESSES, show)
    assert not cell.expected
    assert "killed by SIGKILL" in cell.detail[0]


def test_one_unexpected_cell_is_enough() -> None:
    """The demo holds only if every cell is as expected."""
    good = Cell("race", Stage.MODEL, True, "", ())
    bad = Cell("race", Stage.TRACE, False, "", ())
    assert Demo((good,), "cpu", 1.0).verdict is Verdict.HOLDS
    assert Demo((good, bad), "cpu", 1.0).verdict is Verdict.VIOLATED


@pytest.mark.torch
def test_what_a_killed_demo_has_left_goes_with_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its traces lie in a folder that the next one knows as nobody's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo, "RACES", ())
    monkeypatch.setattr(Toolchain, "find", lambda: None)
    folders: list[Path] = []
    monkeypatch.setattr(demo, "_Bench", lambda **parts: folders.append(parts["folder"]))
    left = tmp_path / "omni-ipc-scratch-left"
    left.mkdir()
    demo.run()
    assert folders[0].parent == tmp_path
    assert list(tmp_path.iterdir()) == []
