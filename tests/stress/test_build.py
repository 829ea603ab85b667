"""Which omni_ipc a soak ran: two that differ are never told by the same words."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from omni_ipc.stress.build import version


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that no repository has."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text("1")
    return tmp_path / "package"


def git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", folder, *names, *words], check=True, capture_output=True)


def test_files_without_git_are_told_by_what_is_in_them(package: Path) -> None:
    """As in an archive, or in a wheel: another character is another build."""
    before = version(package)
    assert re.search(r"^\d.*, files [0-9a-f]{12}$", before)
    assert version(package) == before
    (package / "a.py").write_text("2")
    assert version(package) != before


def test_a_checkout_is_told_by_its_commit_and_whether_it_was_changed(package: Path) -> None:
    """What lies in a repository that does not know it is no checkout of it, as a virtual environment."""
    git(package.parent, "init")
    assert ", files " in version(package)
    git(package.parent, "add", "package")
    git(package.parent, "commit", "-m", "first")
    assert re.search(r", commit [0-9a-f]{12}$", version(package))
    (package / "a.py").write_text("2")
    assert re.search(r", commit [0-9a-f]{12} and changes$", version(package))
