"""Private temporary folders: they go with their owner, and with the next one if it was killed."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omni_ipc.conformance.processes.scratch import scratch_folder

OWNER = """
import sys, tempfile
from omni_ipc.conformance.processes.scratch import scratch_folder
tempfile.tempdir = sys.argv[1]
with scratch_folder() as folder:
    (folder / "states").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_goes_when_it_is_left(private_temp: Path) -> None:
    """With all that is in it, by an error, too."""

    def fill_and_fail() -> None:
        with scratch_folder() as folder:
            (folder / "file").write_text("text")
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        fill_and_fail()
    assert list(private_temp.iterdir()) == []


def test_what_a_killed_owner_left_behind_goes_with_the_next_one(private_temp: Path) -> None:
    """While the owner lives, nobody else removes its folder."""
    owner = [sys.executable, "-c", OWNER, str(private_temp)]
    with subprocess.Popen(owner, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owning:
        assert owning.stdout is not None
        left = Path(owning.stdout.readline().strip())
        with scratch_folder() as folder:
            assert set(private_temp.iterdir()) == {left, folder}
        owning.kill()
    assert (left / "states").is_dir()
    with scratch_folder() as folder:
        assert list(private_temp.iterdir()) == [folder]


def test_what_others_have_there_stays(private_temp: Path) -> None:
    """Neither a folder of another name nor a link that bears ours is touched."""
    theirs = private_temp / "theirs"
    theirs.mkdir()
    link = private_temp / "omni-ipc-tlc-link"
    link.symlink_to(theirs)
    with scratch_folder():
        pass
    assert theirs.is_dir()
    assert link.is_symlink()


@pytest.mark.parametrize("moment", ["open", "flock"])
def test_a_folder_that_is_taken_for_one_left_behind_is_made_anew(
    moment: str, private_temp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may come between its making and its lock, and remove it."""
    module, real = (os, os.open) if moment == "open" else (fcntl, fcntl.flock)
    taken: list[Path] = []

    def remove_once(*arguments: Any, **options: Any) -> Any:
        if not taken:
            taken.extend(private_temp.iterdir())
            taken[0].rmdir()
        return real(*arguments, **options)

    monkeypatch.setattr(module, moment, remove_once)
    with scratch_folder() as folder:
        assert folder.is_dir()
        assert taken
        assert folder not in taken
    assert list(private_temp.iterdir()) == []
