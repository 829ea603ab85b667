"""What becomes of a soak's recordings: samples are held against specs, findings cut down, and nobody waits for long."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from omni_ipc.records import Trace
from omni_ipc.workflows.evidence import Evidence
from tests.workflows.violations import LEFT, Recorded

PATIENCE_S = 110.0


def copied(recordings: Path, folder: Path) -> Path:
    """Evidence takes what it is given; others need it, too."""
    return Path(shutil.copytree(recordings, folder / "recordings"))


def test_a_sample_is_held_against_the_specs_that_speak_of_it(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one worker, AsyncOutput among them, though its consumer left before it asked; nothing of it is kept.

    They are the product's, wherever the specs of the user's lie.
    """
    monkeypatch.setenv("OMNI_IPC_SPEC", str(tmp_path))
    with Evidence(tmp_path / "soak", defect=None, workers=1) as evidence:
        evidence.sample(copied(recorded("", LEFT), tmp_path), 1)
        evidence.finish(PATIENCE_S)
    found = {each.spec: (each.accepted, each.rejected, each.inconclusive) for each in evidence.validations()}
    assert found == {"FutureOrphan": (1, 0, 0), "AsyncOutput": (1, 0, 0)}
    assert (evidence.broken(), evidence.traces(), evidence.silent()) == ((), {}, ())
    assert [path for path in (tmp_path / "soak").rglob("*") if path.is_file()] == []


def test_a_finding_is_cut_down_to_a_trace(recorded: Recorded, tmp_path: Path) -> None:
    """Its recordings lie where it was said that they would, and the trace beside them."""
    with Evidence(tmp_path / "soak", defect="aborted_output_leak", workers=2) as evidence:
        evidence.keep(copied(recorded("aborted_output_leak"), tmp_path), 7)
        evidence.finish(PATIENCE_S)
    ((folder, trace),) = evidence.traces().items()
    assert folder == evidence.place(7)
    assert folder is not None
    assert len(os.listdir(folder)) == 2
    assert Trace.load(Path(trace)).defect == "aborted_output_leak"


@pytest.mark.soak
def test_what_a_spec_does_not_allow_is_a_finding(recorded: Recorded, tmp_path: Path) -> None:
    """Kept, cut down, and told with the step; though nobody else has noticed anything."""
    with Evidence(tmp_path / "soak", defect="late_split_map", workers=2) as evidence:
        evidence.sample(copied(recorded("late_split_map"), tmp_path), 3)
        evidence.finish(PATIENCE_S)
    (broken,) = evidence.broken()
    assert broken.sentence.startswith("SplitMap does not allow what was recorded: step ")
    assert broken.recordings == evidence.place(3)
    assert evidence.traces().keys() == {evidence.place(3)}


def test_where_there_is_no_java_samples_are_let_go_with_a_sentence(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told once, and nothing is claimed."""
    monkeypatch.setenv("OMNI_IPC_TLA2TOOLS", str(tmp_path / "nowhere.jar"))
    with Evidence(tmp_path / "soak", defect=None, workers=2) as evidence:
        evidence.sample(copied(recorded("", LEFT), tmp_path), 1)
        evidence.finish(PATIENCE_S)
    (sentence,) = evidence.silent()
    assert "nowhere.jar" in sentence
    assert evidence.validations() == ()


def test_who_leaves_waits_for_nothing(recorded: Recorded, tmp_path: Path) -> None:
    """What is under way is ended, what waits is forgotten; the recordings of a finding stay."""
    with Evidence(tmp_path / "soak", defect="aborted_output_leak", workers=1) as evidence:
        evidence.keep(copied(recorded("aborted_output_leak"), tmp_path), 2)
    assert evidence.traces() == {}
    assert len(os.listdir(evidence.place(2) or "")) == 2
    assert not (tmp_path / "soak" / "samples").exists()


def test_a_sample_is_forgotten_while_another_one_waits(recorded: Recorded, tmp_path: Path) -> None:
    """Findings are not."""
    evidence = Evidence(tmp_path / "soak", defect=None, workers=1)
    given = [copied(recorded("", LEFT), tmp_path / name) for name in ("a", "b", "c")]
    evidence.sample(given[0], 1)
    evidence.sample(given[1], 2)
    evidence.keep(given[2], 3)
    assert [folder.exists() for folder in given] == [False, True, False]


def test_a_folder_of_findings_is_as_large_as_may_be(tmp_path: Path) -> None:
    """Rounds that have their place keep it; those behind them get none, and nothing is said of it."""
    evidence = Evidence(tmp_path / "soak", defect=None, workers=1)
    places = [evidence.place(number) for number in range(50)]
    assert places == [evidence.place(number) for number in range(50)]
    assert 0 < sum(place is not None for place in places) < 50
    for number, recordings in ((0, tmp_path / "kept"), (49, tmp_path / "dropped")):
        recordings.mkdir()
        evidence.keep(recordings, number)
    assert [path.name for path in tmp_path.iterdir() if path.name != "soak"] == ["dropped"]


def test_nothing_that_was_kept_before_is_in_the_way(tmp_path: Path) -> None:
    """As of a shard that is begun anew in the same folder: both stay, and each finding names its own."""
    for attempt in range(3):
        evidence = Evidence(tmp_path, defect=None, workers=1)
        (recordings := tmp_path / "recordings").mkdir()
        (recordings / f"{attempt}.jsonl").touch()
        evidence.keep(recordings, 4)
        place = Path(evidence.place(4) or "")
        assert [path.name for path in place.iterdir()] == [f"{attempt}.jsonl"]
        assert evidence.waiting == 1
    assert sorted(path.name for path in (tmp_path / "findings").iterdir()) == ["round-4", "round-4-2", "round-4-3"]


def test_what_was_not_recorded_is_no_evidence(tmp_path: Path) -> None:
    """A round of which nothing was taken down is passed over."""
    with Evidence(tmp_path / "soak", defect=None, workers=1) as evidence:
        evidence.sample(tmp_path / "nothing", 1)
        evidence.keep(tmp_path / "nothing", 2)
        evidence.finish(PATIENCE_S)
    assert (evidence.validations(), evidence.traces()) == ((), {})
