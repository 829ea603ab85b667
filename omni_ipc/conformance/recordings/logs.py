"""Logs as real processes wrote them, one file each: found, and read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.inputs import read_file
from omni_ipc.recordings import RECORDING_VERSION, SUFFIX, Closed, Line, Process

_DECODER = msgspec.json.Decoder(Line)


class Log(msgspec.Struct, frozen=True):
    """What one process has written.

    Args:
        lines: thread by thread, but for the first.
        closed: False if it was killed, or left by ``os._exit``.
    """

    path: Path
    process: Process
    lines: tuple[Line, ...]
    closed: bool


def read_logs(paths: Sequence[Path]) -> list[Log]:
    """Read files, or folders of them; what is given twice is read once.

    Raises:
        UsageError: there is none; or a file is no recording, or of another version.
        Inconclusive: a file is empty, damaged, or has a gap; tells the line.
    """
    files = sorted({file.resolve(): file for path in paths for file in _files(path)}.values())
    if not files:
        raise UsageError(
            f"There is no recording in {', '.join(map(repr, map(str, paths)))}: no file is named *{SUFFIX}. "
            "Make one: omni-ipc record --to DIR -- COMMAND."
        )
    return [_read(file) for file in files]


def _files(path: Path) -> Iterable[Path]:
    return path.rglob(f"*{SUFFIX}") if path.is_dir() else (path,)


def _read(path: Path) -> Log:
    try:
        rows = read_file(path).split(b"\n")
    except OSError as error:
        raise UsageError(f"Cannot read the recording '{path}': {error.strerror}. Correct its path.") from None
    torn = bool(rows.pop())  # what stands behind the last line's end: a process that was killed while it wrote
    if not rows:
        raise Inconclusive(f"The recording '{path}' is empty: nothing is known of its process. Record it anew.")
    process, *lines = (_decode(path, at, row) for at, row in enumerate(rows, start=1))
    if not isinstance(process, Process):
        raise Inconclusive(f"The recording '{path}' has a gap: its first line is missing. Restore it, or record anew.")
    if process.version != RECORDING_VERSION:
        raise UsageError(
            f"The recording '{path}' has version {process.version}; this omni-ipc reads version {RECORDING_VERSION}. "
            "Record it anew."
        )
    _require_whole(path, lines)
    closed = any(isinstance(line, Closed) for line in lines)
    return Log(path, process, tuple(sorted(lines, key=lambda line: (line.thread, line.number))), closed and not torn)


def _require_whole(path: Path, lines: Sequence[Line]) -> None:
    """See that no line is missing before another one of its thread."""
    numbers: dict[int, list[int]] = defaultdict(list)
    for line in lines:
        numbers[line.thread].append(line.number)
    for thread, found in numbers.items():
        for expected, number in enumerate(sorted(found)):
            if number != expected:
                what = f"lacks line {expected}" if number > expected else f"has line {number} twice"
                raise Inconclusive(
                    f"The recording '{path}' has a gap: thread {thread} {what}. Restore it, or record anew."
                )
    promised = next((line.lines for line in lines if isinstance(line, Closed)), 0)
    if len(lines) < promised:
        raise Inconclusive(
            f"The recording '{path}' has a gap: it has {len(lines)} lines of {promised}. Restore it, or record anew."
        )


def _decode(path: Path, at: int, row: bytes) -> Line:
    try:
        return _DECODER.decode(row)
    except msgspec.DecodeError as error:
        if at == 1:
            raise UsageError(f"'{path}' is no recording: {error}. Give a *{SUFFIX} file, or their folder.") from None
        raise Inconclusive(
            f"The recording '{path}' is damaged in line {at}: {error}. Restore it, or record anew."
        ) from None
