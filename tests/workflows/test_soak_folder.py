"""The folder of a soak is one soak's at a time; what those before have left is removed, but no evidence."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from omni_ipc import shards
from omni_ipc.errors import UsageError
from omni_ipc.workflows.soak_folder import claimed
from tests.support.accounts import PLAIN


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_earlier_soaks_have_left_is_gone(tmp_path: Path) -> None:
    """Their shards, too; what is not theirs stays."""
    for place in (tmp_path, tmp_path / "shard-1"):
        shards.write(place, PLAIN)
        for name in ("processes.log", "rounds/3/1.regions.json", "samples/2/1.recording.jsonl"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).touch()
    (tmp_path / "soak.html").touch()
    with claimed(tmp_path):
        assert files(tmp_path) == ["soak.html"]
        assert shards.shards_in(tmp_path) == {}


@pytest.mark.parametrize("place", ["findings", "shard-0/findings"])
def test_evidence_is_removed_by_nobody(place: str, tmp_path: Path) -> None:
    """It says where it lies; the whole folder is as it was."""
    shards.write(tmp_path, PLAIN)
    (tmp_path / place / "round-1").mkdir(parents=True)
    with (
        pytest.raises(UsageError, match=rf"{place}' holds what an earlier soak has found\. Move it away"),
        claimed(tmp_path),
    ):
        pass
    assert (tmp_path / place / "round-1").is_dir()
    assert files(tmp_path) == [shards.ACCOUNT]


def test_a_folder_in_which_no_soak_has_been_is_left_as_it_is(tmp_path: Path) -> None:
    """Whatever is called like something of a soak's; one that is not there is made."""
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "mine.txt").touch()
    with claimed(tmp_path):
        assert files(tmp_path) == ["findings/mine.txt"]
    with claimed(tmp_path / "new" / "folder"):
        assert (tmp_path / "new" / "folder").is_dir()


def test_two_soaks_do_not_share_a_folder(tmp_path: Path) -> None:
    """The second one is told; once the first has ended, however it did, the folder is free again."""

    def work() -> None:
        with claimed(tmp_path):
            with pytest.raises(UsageError, match="Another soak is at work in"), claimed(tmp_path):
                pass
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            work()


def test_a_soak_that_is_refused_leaves_no_empty_folder(tmp_path: Path) -> None:
    """Unless it was there before; what has come into it stays."""

    def be_refused(folder: Path, *names: str) -> None:
        with contextlib.suppress(UsageError), claimed(folder):
            for name in names:
                (folder / name).touch()
            raise UsageError("Shard 1: there is no CUDA here.")

    (tmp_path / "old").mkdir()
    be_refused(tmp_path / "old")
    be_refused(tmp_path / "new")
    be_refused(tmp_path / "kept", shards.ACCOUNT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "old"]


def test_what_cannot_be_a_folder_is_told(tmp_path: Path) -> None:
    """In a sentence."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="Cannot write"), claimed(tmp_path / "file"):
        pass
