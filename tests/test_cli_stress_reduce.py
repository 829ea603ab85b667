"""`omni-ipc stress reduce`, as people call it: from recordings to a trace that `omni-ipc replay` takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from omni_ipc.conformance.models.manifest import find_folder
from omni_ipc.errors import UsageError
from tests.support.in_process import Omni

BAD = find_folder() / "trace" / "bad"
DEFECT = "late_split_map"


def test_recordings_of_a_defect_become_a_trace_that_replays(
    omni: Omni, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the order that was followed, and the command that replays it; exit code 1, as something was found."""
    monkeypatch.setenv("COLUMNS", "200")
    written = tmp_path / "reduced.json"
    reduced = omni(
        "stress", "reduce", str(BAD / DEFECT), "--defect", DEFECT, "--save", str(tmp_path), "--json", str(written)
    )
    assert (reduced.code, reduced.err) == (1, "")
    result = json.loads(written.read_text())["result"]
    assert (result["verdict"], result["along"], result["scenario"]) == ("violated", True, "split_map")
    assert " → ".join(result["suspects"][0]["order"]) in reduced.out
    (command,) = (line for line in reduced.out.splitlines() if line.startswith("Replay it: omni-ipc "))
    replayed = omni(*command.removeprefix("Replay it: omni-ipc ").split())
    assert replayed.code == 1
    assert "did not come within" in replayed.out


def test_a_trace_that_cannot_be_saved_is_a_violation_no_less(
    omni: Omni, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told, with what is in the way, and no file is named that is not there."""
    written = tmp_path / "reduced.json"

    def full(path: Path, _: bytes) -> Path:
        raise UsageError(f"Cannot write '{path}': No space left on device.")

    monkeypatch.setattr("omni_ipc.records.write_atomically", full)
    words = "stress", "reduce", str(BAD / DEFECT), "--defect", DEFECT, "--save", str(tmp_path), "--json", str(written)
    ended = omni(*words)
    result = json.loads(written.read_text())["result"]
    assert (ended.code, result["verdict"], result["trace"]) == (1, "violated", None)
    assert "fails along what was recorded" in " ".join(ended.out.split())
    assert "The trace was not saved. Cannot write" in ended.err


def test_a_place_that_nothing_can_be_saved_in_is_refused_before_anything_is_looked_for(omni: Omni) -> None:
    """Half a minute later it would be too late."""
    Path("file").touch()
    ended = omni("stress", "reduce", str(BAD / DEFECT), "--save", "file")
    assert (ended.code, ended.out) == (2, "")
    assert "Cannot write 'file'" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere"], 2, "Cannot read the recording 'nowhere'"),
        ([str(BAD / DEFECT), "--defect", "late_split_mop"], 2, "Did you mean 'late_split_map'?"),
        ([str(BAD / DEFECT), "--seconds", "0"], 2, "seconds must be positive"),
        ([str(BAD / DEFECT), "--seconds", "0.2"], 3, "fails in none of"),
    ],
)
def test_what_cannot_be_reduced_is_told(arguments: list[str], code: int, said: str, omni: Omni, tmp_path: Path) -> None:
    """Bad input ends with 2; what was looked for and not found is inconclusive, and leaves no trace."""
    ended = omni("stress", "reduce", *arguments, "--save", str(tmp_path / "found"))
    assert ended.code == code
    assert said in " ".join((ended.out + ended.err).split())
    assert not (tmp_path / "found").exists()
