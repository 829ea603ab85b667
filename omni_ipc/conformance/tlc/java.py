"""Running a program of TLC's jar: privately, boundedly, and without a trace on the disk.

A run has a directory of its own for modules, temporary files and states, which goes with it: two runs at once do not
meet, and nothing appears beside the specs. If this process is killed, Java ends with it, and the next run removes the
directory.
"""

from __future__ import annotations

import contextlib
import enum
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from omni_ipc.conformance.processes.children import Children, Ended
from omni_ipc.conformance.processes.listener import Hear
from omni_ipc.conformance.processes.scratch import scratch_folder
from omni_ipc.conformance.tlc.archive import archive_options
from omni_ipc.conformance.tlc.cache import Cache, Kept, key_of
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import EnvironmentMissing

_OPTIONS = ("-Xss64m", "-XX:+UseParallelGC", "-XX:-UsePerfData", "-Xlog:disable")
_NO_PROGRAM = "Could not find or load main class"  # says Java of a jar that is none, or another
# All is well, or what TLC was to find: an assumption, a stuck state, a violation of safety or of liveness.
_ANSWERS = frozenset({0, 10, 11, 12, 13})
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


class Span(enum.Enum):
    """How long a run is for: each has its own options of Java."""

    SECONDS = ("-Xmx1g", "-XX:TieredStopAtLevel=1")  # most of it is starting up, so the quick compiler is enough
    HOURS = ("-XX:MaxRAMPercentage=50",)  # it may have half of the memory, and gets the best code


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
    span: Span = Span.SECONDS,
    hear: Hear | None = None,
) -> JavaRun:
    """Run a program of the jar in a folder of its own.

    Args:
        program: "tlc2.TLC", "tla2sany.xml.XMLExporter".
        files: what lies in the folder: name -> text.
        library: folders in which modules are looked up.
        budget_s: after so many seconds it is killed, with its process group.
        keep: names of files that the program writes into the folder.
        span: how long it is expected to take.
        hear: hears each line of its output as it comes; nothing of a run that was kept.

    Raises:
        EnvironmentMissing: Java cannot be started, the jar has no such program, or there is no temporary folder.
        UsageError: OMNI_IPC_TLC_CACHE names no folder.
    """
    asked = _Asked(program, arguments, files, library, toolchain, children, budget_s, keep, hear)
    options = (*span.value, *_OPTIONS)
    cache = Cache.find(toolchain)
    if cache is None:
        return _run(asked, options)
    key = key_of(toolchain, program, arguments, files, library, keep)
    if (kept := cache.load(key)) is not None:
        return JavaRun(kept.ended, kept.seconds, kept.files, is_kept=True)
    if span is Span.SECONDS:  # an archive is of certain options, and saves half a second
        try:
            options += archive_options(cache, toolchain, options, children)
        except OSError as error:
            raise toolchain.cannot_start(error) from None
    run = _run(asked, options)
    if run.ended.exit_code in _ANSWERS and not run.ended.timed_out:
        cache.save(key, Kept(run.ended.output, run.ended.errors, run.ended.exit_code, dict(run.files), run.seconds))
    return run


class _Asked(NamedTuple):
    """What is to be run: see `run_java`."""

    program: str
    arguments: Sequence[str]
    files: Mapping[str, str]
    library: Sequence[Path]
    toolchain: Toolchain
    children: Children
    budget_s: float
    keep: Sequence[str]
    hear: Hear | None


def _run(asked: _Asked, options: Sequence[str]) -> JavaRun:
    with contextlib.ExitStack() as resources:
        try:
            folder = resources.enter_context(scratch_folder())
            (folder / "tmp").mkdir()
            for name, text in asked.files.items():
                (folder / name).write_text(text)
        except OSError as error:
            raise EnvironmentMissing(
                f"TLC needs a temporary folder: {error.strerror}.", "Name one with room: TMPDIR=DIR omni-ipc ..."
            ) from None
        own = (
            f"-Djava.io.tmpdir={folder / 'tmp'}",
            f"-DTLA-Library={os.pathsep.join(map(str, asked.library))}",
        )
        words = (*options, *own, asked.program, *asked.arguments)
        command = asked.toolchain.command(words, folder, asked.library, asked.budget_s)
        resources.callback(asked.toolchain.end, folder)
        started = time.monotonic()
        try:
            ended = asked.children.run(
                command, cwd=folder, env=_environment(), timeout_s=asked.budget_s, hear=asked.hear
            )
        except OSError as error:
            raise asked.toolchain.cannot_start(error) from None
        if _NO_PROGRAM in ended.errors:
            raise asked.toolchain.lacks(asked.program)
        kept = {name: (folder / name).read_text() for name in asked.keep if (folder / name).is_file()}
        return JavaRun(ended, time.monotonic() - started, kept)


def _environment() -> dict[str, str]:
    """Without the variables by which a JVM takes options that we did not give."""
    return {name: value for name, value in os.environ.items() if name not in _VARIABLES}
