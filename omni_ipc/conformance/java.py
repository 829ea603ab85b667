"""Running a program of TLC's jar: privately, boundedly, and without a trace on the disk.

A run has a directory of its own for modules, temporary files and states, which goes with it: two runs at once do not
meet, and nothing appears beside the specs. If this process is killed, Java ends with it, and the next run removes the
directory.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from omni_ipc.conformance.archive import archive_options
from omni_ipc.conformance.cache import Cache, Kept, key_of
from omni_ipc.conformance.children import Children, Ended
from omni_ipc.conformance.scratch import scratch_folder
from omni_ipc.conformance.toolchain import Toolchain
from omni_ipc.errors import EnvironmentMissing

# Most of a run is starting up, so the quick compiler is enough.
_OPTIONS = ("-Xmx1g", "-Xss64m", "-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xlog:disable")
_NO_PROGRAM = "Could not find or load main class"  # says Java of a jar that is none, or another
# All is well, or what TLC was to find: an assumption, a stuck state, a violation of safety or of liveness.
_ANSWERS = frozenset({0, 10, 11, 12, 13})
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


class JavaRun(NamedTuple):
    """A program that has ended."""

    ended: Ended
    seconds: float
    files: Mapping[str, str]  # name -> text of those that were to be kept, and were written
    is_kept: bool = False  # it ran some time ago: see `cache`


def run_java(
    program: str,
    arguments: Sequence[str],
    files: Mapping[str, str],
    *,
    library: Sequence[Path],
    toolchain: Toolchain,
    children: Children,
    budget_s: float,
    keep: Sequence[str] = (),
) -> JavaRun:
    """Run a program of the jar in a folder of its own.

    Args:
        program: "tlc2.TLC", "tla2sany.xml.XMLExporter".
        files: what lies in the folder: name -> text.
        library: folders in which modules are looked up.
        budget_s: after so many seconds it is killed, with its process group.
        keep: names of files that the program writes into the folder.

    Raises:
        EnvironmentMissing: Java cannot be started, the jar has no such program, or there is no temporary folder.
        UsageError: OMNI_IPC_TLC_CACHE names no folder.
    """
    cache = Cache.find(toolchain)
    if cache is None:
        return _run(program, arguments, files, library, toolchain, children, budget_s, keep, ())
    key = key_of(toolchain, program, arguments, files, library, keep)
    if (kept := cache.load(key)) is not None:
        return JavaRun(kept.ended, kept.seconds, kept.files, is_kept=True)
    try:
        archived = archive_options(cache, toolchain, _OPTIONS, children)
    except OSError as error:
        raise toolchain.cannot_start(error) from None
    run = _run(program, arguments, files, library, toolchain, children, budget_s, keep, archived)
    if run.ended.exit_code in _ANSWERS and not run.ended.timed_out:
        cache.save(key, Kept(run.ended.output, run.ended.errors, run.ended.exit_code, dict(run.files), run.seconds))
    return run


def _run(
    program: str,
    arguments: Sequence[str],
    files: Mapping[str, str],
    library: Sequence[Path],
    toolchain: Toolchain,
    children: Children,
    budget_s: float,
    keep: Sequence[str],
    archived: Sequence[str],
) -> JavaRun:
    with contextlib.ExitStack() as resources:
        try:
            folder = resources.enter_context(scratch_folder())
            (folder / "tmp").mkdir()
            for name, text in files.items():
                (folder / name).write_text(text)
        except OSError as error:
            raise EnvironmentMissing(
                f"TLC needs a temporary folder: {error.strerror}.", "Name one with room: TMPDIR=DIR omni-ipc ..."
            ) from None
        options = (
            *_OPTIONS,
            *archived,
            f"-Djava.io.tmpdir={folder / 'tmp'}",
            f"-DTLA-Library={os.pathsep.join(map(str, library))}",
        )
        command = toolchain.command((*options, program, *arguments), folder, library, budget_s)
        started = time.monotonic()
        try:
            ended = children.run(command, cwd=folder, env=_environment(), timeout_s=budget_s)
        except OSError as error:
            raise toolchain.cannot_start(error) from None
        if _NO_PROGRAM in ended.errors:
            raise toolchain.lacks(program)
        kept = {name: (folder / name).read_text() for name in keep if (folder / name).is_file()}
        return JavaRun(ended, time.monotonic() - started, kept)


def _environment() -> dict[str, str]:
    """Without the variables by which a JVM takes options that we did not give."""
    return {name: value for name, value in os.environ.items() if name not in _VARIABLES}
