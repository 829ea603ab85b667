"""An archive of the classes that TLC loads, so that a run of Java need not load and check them again.

Java's own comes without one, and makes one only of a list of classes: which these are, a run of TLC tells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.processes.scratch import scratch_folder
from omni_ipc.conformance.tlc.cache import Cache
from omni_ipc.conformance.tlc.toolchain import Toolchain

_BUDGET_S = 120.0
_MODULE = """\
---- MODULE Tiny ----
EXTENDS Integers, Sequences, FiniteSets, TLC
VARIABLE count
Init == count = 0
Next == count' = (count + 1) % 3
Spec == Init /\\ [][Next]_count /\\ WF_count(Next)
TypeOK == count \\in 0..2
ReturnsProp == []<>(count = 0)
====
"""
_CONFIGURATION = "SPECIFICATION Spec\nINVARIANT TypeOK\nPROPERTY ReturnsProp\n"
_TLC = ("tlc2.TLC", "-metadir", "states", "-workers", "1", "-coverage", "1", "-tool", "Tiny")


def archive_options(cache: Cache, toolchain: Toolchain, options: Sequence[str], children: Children) -> tuple[str, ...]:
    """Give the options that have Java use the archive, which is made when it is asked for first.

    Args:
        options: those of all runs, for which the archive is made.

    Returns:
        No options, if this Java makes none.

    Raises:
        OSError: Java cannot be started, or there is no temporary folder.
    """
    known = hashlib.sha256(f"{toolchain.java} {toolchain.java.stat().st_mtime_ns} {toolchain.sha256()}".encode())
    path = cache.folder / f"{known.hexdigest()[:32]}.jsa"
    with cache.locked():
        if not path.exists():
            _make(path, toolchain, options, children)
        return (f"-XX:SharedArchiveFile={path.absolute()}",) if path.stat().st_size else ()


def _make(path: Path, toolchain: Toolchain, options: Sequence[str], children: Children) -> None:
    """Make the archive; an empty file says that it cannot be made."""
    with scratch_folder() as folder:
        (folder / "Tiny.tla").write_text(_MODULE)
        (folder / "Tiny.cfg").write_text(_CONFIGURATION)
        made = folder / path.name
        for own in (("-XX:DumpLoadedClassList=classes", *_TLC), ("-Xshare:dump", "-XX:SharedClassListFile=classes")):
            target = () if own[0] != "-Xshare:dump" else (f"-XX:SharedArchiveFile={made}",)
            command = toolchain.command((*options, *target, *own), folder, (), _BUDGET_S)
            children.run(command, cwd=folder, timeout_s=_BUDGET_S)
        partial = path.with_suffix(".part")
        partial.write_bytes(made.read_bytes() if made.is_file() else b"")
        partial.replace(path)
