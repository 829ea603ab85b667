"""A copy of the checkout, in which one module at a time is exchanged for its mutant."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import omni_ipc
from omni_ipc.errors import UsageError
from omni_ipc.workflows.mutants.catalogue import Mutant

_ABOUT = ("docs/mutants.md", "tests/mutants/")  # what is written of campaigns, and no attack reads
_PARTS = ("omni_ipc", "spec", "tests", "docs", "scripts", "pyproject.toml", "README.md")


class Tree:
    """A copy, for one process at a time.

    Args:
        folder: an empty one, for the copy and for what its processes leave, also those that are killed.
    """

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.folder = folder / "tree"
        self.scratch = folder / "tmp"
        self.folder.mkdir()
        self.scratch.mkdir()
        for part in _PARTS:
            if (checkout / part).is_dir():
                shutil.copytree(checkout / part, self.folder / part)
            else:
                shutil.copy2(checkout / part, self.folder / part)

    @property
    def environment(self) -> dict[str, str]:
        """What makes a Python run the copy, and write no byte code: mutants come faster than times of files tell."""
        known = {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.scratch)}
        return {**os.environ, **known}

    @contextlib.contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Let the copy be the mutant."""
        path = self.folder / mutant.path
        kept = path.with_suffix(".kept")
        path.rename(kept)
        try:
            path.write_text("\n".join(mutant.edit.apply(kept.read_text().splitlines())) + "\n")
            os.utime(path, (0, 0))  # unlike that of the original, whose byte code is beside it
            yield
        finally:
            kept.replace(path)


def find_checkout() -> Path:
    """The checkout that this package is in.

    Raises:
        UsageError: it was installed without its tests.
    """
    root = Path(omni_ipc.__file__).resolve().parent.parent
    if missing := [part for part in _PARTS if not (root / part).exists()]:
        raise UsageError(f"'{root}' has no '{missing[0]}'. Mutants are made of a checkout: run this in one.")
    return root


def digest(checkout: Path) -> str:
    """Tell one state of the checkout from another, by all that an attack may depend on."""
    total = hashlib.sha256()
    for part in _PARTS:
        path = checkout / part
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = file.relative_to(checkout).as_posix()
            if file.is_file() and "__pycache__" not in file.parts and not name.startswith(_ABOUT):
                total.update(name.encode() + b"\0" + file.read_bytes())
    return total.hexdigest()[:16]
