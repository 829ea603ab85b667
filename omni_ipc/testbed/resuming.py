"""Saves an exploration from time to time, and goes on with it: what was run is not run again, and nothing is lost.

The state is taken between two runs. Ctrl-C is answered after the run at hand; a process that is killed loses what came
after the last time that it saved, and runs it again. Bits of objects are given in the order in which a search meets
the objects, so their keys are saved, too.
"""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any

from omni_ipc.errors import InternalError, UsageError
from omni_ipc.records import write_atomically
from omni_ipc.testbed.instrument.modules import home_of, read_source
from omni_ipc.testbed.options import Options
from omni_ipc.testbed.plain import from_json, to_json
from omni_ipc.testbed.runner import Scenario
from omni_ipc.testbed.search import Search

_VERSION = 4
_EVERY_S = 5.0
_FREE = ("runs", "seconds")  # may be others when an exploration goes on


class Saved:
    """A folder with the state of one exploration, or with none yet.

    Raises:
        UsageError: it holds another exploration, or something else.
    """

    def __init__(self, folder: Path, scenario: Scenario, options: Options) -> None:
        self._path = folder / f"exploration.{options.job + 1}-of-{options.jobs}.json"
        self._of = {name: getattr(options, name) for name in options.__struct_fields__ if name not in _FREE}
        self._of["code"] = None if (home := home_of(scenario)) is None else _digest(_text(str(home.__file__)))
        self._due = monotonic() + _EVERY_S
        self._wanted = False  # by the user, who has had enough
        others = {path for path in folder.glob("exploration.*-of-*.json") if f"-of-{options.jobs}." not in path.name}
        if others:
            jobs = min(others).name.split("-of-")[1].removesuffix(".json")
            raise UsageError(
                f"'{folder}' holds an exploration by {jobs} processes, and this one has {options.jobs}. "
                f"Go on with --jobs {jobs}, or give another folder."
            )
        self._document = self._read()

    @property
    def points(self) -> tuple[str, ...]:
        """Accesses that were found to be points."""
        return tuple(self._document["points"]) if self._document else ()

    def restore(self, search: Search) -> None:
        """Let a search go on from the saved state, if there is one.

        Raises:
            UsageError: the state is damaged.
        """
        if not self._document:
            return
        try:
            search.restore(from_json(self._document["state"]))
        except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
            raise self._damaged(error) from None

    def keep(self, search: Search, is_last: bool) -> None:
        """Save, if it is time to; called between two runs.

        Raises:
            KeyboardInterrupt: the user has had enough; all is saved.
        """
        if is_last or self._wanted or monotonic() >= self._due:
            self.save(search)
        if self._wanted:
            raise KeyboardInterrupt

    def save(self, search: Search) -> None:
        """Save now.

        Raises:
            UsageError: the file cannot be written.
        """
        try:
            state = to_json(search.state())
        except TypeError as error:
            raise InternalError(f"The exploration cannot be saved: {error}. Explore without --resume.") from error
        document = {
            "format": "omni-ipc-exploration",
            "version": _VERSION,
            "of": self._of,
            "points": search.runner.points(),
            "sources": {file: _digest(text) for file, text in search.runner.sources().items()},
            "state": state,
        }
        write_atomically(self._path, json.dumps(document).encode())
        self._due = monotonic() + _EVERY_S

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Answer the first Ctrl-C between two runs, and the second one at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._wanted:
            raise KeyboardInterrupt
        self._wanted = True

    def _read(self) -> dict[str, Any]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UsageError(f"Cannot read '{self._path}': {error.strerror}. Give another folder.") from None
        try:
            document: dict[str, Any] = json.loads(data)
            of, version = document["of"], document["version"]
            if document["format"] != "omni-ipc-exploration" or version != _VERSION:
                raise ValueError(f"version {version}")
            _ = document["points"], document["state"]
            sources = dict(document["sources"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._damaged(error) from None
        for name, value in json.loads(json.dumps(self._of)).items():
            if of.get(name) != value:
                raise self._another(
                    "the scenario's file has been changed since"
                    if name == "code"
                    else f"its {name} is {of.get(name)!r}, and not {value!r}"
                )
        for file, digest in sources.items():
            if _digest(_text(file)) != digest:
                raise self._another(f"'{file}' has been changed since")
        return document

    def _another(self, difference: str) -> UsageError:
        return UsageError(
            f"'{self._path}' holds another exploration: {difference}. Give another folder, or delete it to begin anew."
        )

    def _damaged(self, error: Exception) -> UsageError:
        return UsageError(
            f"'{self._path}' is damaged, or comes from another version ({type(error).__name__}: {error}). "
            "Delete it to begin anew."
        )


def _text(file: str) -> str:
    """Return a module's source as it is now; nothing if it cannot be read."""
    try:
        return read_source(file)
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


def _digest(text: str) -> int:
    return zlib.crc32(text.encode(errors="surrogatepass"))
