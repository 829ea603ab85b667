"""Where results are to be written: looked at before the work begins, not after it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from omni_ipc.errors import UsageError


def require_file(path: Path) -> None:
    """Check that a file can be written in a folder that is there.

    Raises:
        UsageError: it cannot; says why.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"Cannot write '{path}': it is no regular file. Choose another path.")
    if not path.parent.exists():
        raise UsageError(f"Cannot write '{path}': there is no folder '{path.parent}'. Make it: mkdir -p {path.parent}")
    _require_room(path, path.parent)


def require_folder(path: Path) -> None:
    """Check that files can be written into a folder, or that it can be made; nothing is made yet.

    Raises:
        UsageError: it cannot; says why.
    """
    try:
        places = path, *path.absolute().parents
    except FileNotFoundError:
        raise UsageError(f"Cannot write '{path}': the working folder is gone. Go to another one: cd /") from None
    _require_room(path, next(place for place in places if place.exists()))


def _require_room(path: Path, folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"Cannot write '{path}': {error.strerror} ('{folder}'). Choose another path.") from None
