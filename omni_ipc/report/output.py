"""Where a command says what: to people on standard output, to machines as JSON, and its progress on the terminal."""

from __future__ import annotations

import contextlib
import io
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich import box
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from omni_ipc.errors import UsageError
from omni_ipc.records import write_atomically
from omni_ipc.report.endings import ExitCode
from omni_ipc.report.plain import Neutral, cut, neutral
from omni_ipc.report.targets import require_file

_NARROWEST = 60  # columns: some environments claim to have none

ShowProgress = Callable[[str, int, int | None], None]
"""Takes what is going on, how much is done, and how much there is, if that is known."""


class Output:
    """What one command says.

    Args:
        json: the file for the machine-readable result, or "-": from then on standard output is for machines alone, and
            what else is printed, by a user's scenario too, goes to standard error.

    Raises:
        UsageError: standard output is closed, and yet machines are to read it; or the file cannot be written.
    """

    def __init__(self, json: str | None) -> None:
        self._json = json
        self._machine = sys.stdout
        if json == "-":
            if sys.stdout is None:
                raise UsageError("Standard output is closed, so '--json -' reaches nobody. Open it, or name a file.")
            sys.stdout = sys.stderr
        elif json is not None:
            require_file(Path(json))
        self._console = Console(highlight=False)
        self._console.width = max(self._console.width, _NARROWEST)

    @property
    def width(self) -> int:
        """Columns of the terminal, at least 60; 80 where there is none."""
        return self._console.width

    def say(self, *parts: RenderableType) -> None:
        """Print for people; plain strings are left in one line, so that a command can be copied."""
        for part in parts:
            words = isinstance(part, str)
            self._console.print(Neutral(Text(str(part)) if words else part), soft_wrap=words)

    def write(self, command: str, exit_code: int, result: Any, *files: Callable[[], object]) -> ExitCode:
        """Write the result for machines, if they asked for one, and return the exit code; call it last.

        If it fails, people know the result, and nothing half-written stays behind.

        Args:
            files: each writes another file, behind the result; whatever becomes of one, the others are tried.

        Raises:
            UsageError: a file cannot be written, and that is the worst news there is: all is as claimed.
        """
        code = ExitCode(exit_code)
        failures = []
        for write in (lambda: self._write({"command": command, "exit_code": int(code), "result": result}), *files):
            try:
                write()
            except UsageError as error:
                failures.append(error)
        told = failures[:-1] if code is ExitCode.AS_CLAIMED else failures
        for failure in told:
            complain(str(failure))
        if len(failures) > len(told):
            raise failures[-1]
        return code

    def write_rows(self, rows: Sequence[Any]) -> None:
        """Write the result of a benchmark, which is nothing but rows, the same in every one; else as `write`."""
        self._write(rows)

    def _write(self, document: Any) -> None:
        if self._json is None:
            return
        data = msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
        if self._json == "-":
            self._machine.write(data.decode())
            self._machine.flush()
        else:
            write_atomically(Path(self._json), data)


def complain(sentence: str, *, broken: bool = False) -> None:
    """Say on standard error what is in the way, unless the caller has closed it.

    Args:
        broken: between words, where the terminal ends; else it is one line, so that a command in it can be copied.
    """
    if sys.stderr is not None:
        told = f"omni-ipc: {neutral(cut(sentence))}"
        print(_broken(told, max(Console(stderr=True).width, _NARROWEST)) if broken else told, file=sys.stderr)


def _broken(text: str, width: int) -> str:
    return textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


@contextlib.contextmanager
def progress(description: str) -> Iterator[ShowProgress]:
    """Show a line of progress on standard error, if that is a terminal; it vanishes at the end."""
    console = Console(stderr=True)
    what = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), BarColumn(bar_width=24), what, TimeElapsedColumn())
    with Progress(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=False,  # standard output may be a file
        disable=not console.is_terminal,
    ) as display:
        line = display.add_task(description, total=None)
        yield lambda text, done, total: display.update(line, description=text, completed=done, total=total)


def told_line_by_line() -> Callable[[str], None]:
    """Give what says a line on standard error, unless that is a terminal, where `progress` shows how far it is."""
    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        return lambda _: None
    return lambda line: console.print(Neutral(Text(line)), soft_wrap=True)


def table(titles: Sequence[str], lines: Sequence[Sequence[RenderableType]], *, whole: Collection[str] = ()) -> Table:
    """Lay out a list, a line each; a string is shown as it is: "omni-ipc[bench]" has no markup in it.

    Args:
        whole: titles of the columns whose cells stay in one line each, as long as the others can make room.
    """
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in titles:
        grid.add_column(Text(title), overflow="fold", no_wrap=title in whole)
    for cells in lines:
        grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))
    return grid


def behind(labels: Iterable[tuple[str, str]], *, indent: int = 0) -> Table:
    """Lay out texts behind their labels; one that is longer than the line goes on below itself."""
    grid = Table.grid(padding=(0, 1))
    for label, text in labels:
        grid.add_row(Text(" " * indent + label, no_wrap=True), Text(text))
    return grid


def survive_readers() -> None:
    """Let standard output and error outlive their readers, as in ``| head``: what comes later is dropped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None:  # the caller may have closed it
            raw = _Forgiving(stream.fileno(), "w", closefd=False)
            buffered = io.BufferedWriter(raw)
            lines = name == "stderr" or raw.isatty()
            setattr(sys, name, io.TextIOWrapper(buffered, stream.encoding, "replace", line_buffering=lines))


class _Forgiving(io.FileIO):
    """Reports a failed write once, and that its reader has left not at all."""

    _failed = False

    def write(self, data: Any) -> int:
        if not self._failed:
            try:
                return super().write(data)
            except OSError as error:
                self._failed = True
                if not isinstance(error, BrokenPipeError):
                    raise
        return memoryview(data).nbytes
