"""Runs as each Python starts that `omni-ipc record` has put this folder in the way of (see ../recording.py)."""

import contextlib
import importlib
import os
import sys
from pathlib import Path


def _give_way() -> None:
    """Let whoever else customises this Python do so."""
    here = os.path.dirname(os.path.abspath(__file__))
    path, ours = sys.path[:], sys.modules.pop("sitecustomize", None)
    sys.path[:] = [folder for folder in path if os.path.abspath(folder) != here]
    try:
        with contextlib.suppress(ImportError):
            importlib.import_module("sitecustomize")
    finally:
        sys.path[:] = path  # this folder stays on it, for the processes that come of this one
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


def _record() -> None:
    with contextlib.suppress(ImportError):  # a Python without omni_ipc
        from omni_ipc.seam.recording import record_for_good

        record_for_good(Path(os.environ["OMNI_IPC_RECORD"]))


_give_way()
if os.environ.get("OMNI_IPC_RECORD"):
    _record()
