"""Runs as each Python starts that `omni-ipc record` has put this folder in the way of (see ../recording.py).

Nothing of omni_ipc is imported here, for who knows which one the program will import: once that has its native runtime,
recording begins.
"""

import contextlib
import importlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_RUNTIME = "omni_ipc.seam.native"


class _Finder:
    """Finds the native runtime as whoever stands behind it would, and begins when it has been executed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != _RUNTIME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_record(module: ModuleType) -> None:
                execute(module)
                sys.modules[name] = module
                _record()

            spec.loader.exec_module = execute_and_record  # type: ignore[method-assign]
        return spec


def _record() -> None:
    with contextlib.suppress(ImportError, AttributeError):  # an omni_ipc that cannot record
        importlib.import_module("omni_ipc.seam.recording").record_for_good(Path(os.environ["OMNI_IPC_RECORD"]))


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


_give_way()
if os.environ.get("OMNI_IPC_RECORD"):
    sys.meta_path.insert(0, _Finder())
