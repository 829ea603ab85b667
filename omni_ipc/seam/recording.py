"""A native runtime that writes down each region: what a process really did, to be compared with a spec later.

One JSON object a line: ``{"sequence", "task", "action", "fields", "begin", "end", "error"?}``; times are monotonic
seconds, common to all processes of the machine. ``begin`` is taken before the lock is asked for, ``end`` after it was
given back, so that the step happened somewhere between the two.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.seam.native import NativeRuntime

if TYPE_CHECKING:
    from collections.abc import Iterator


class RecordingRuntime(NativeRuntime):
    """Appends every region of this process to a file of its own.

    Args:
        path: the log; a line is written with one call, so that only the last one can be torn by a crash.
    """

    def __init__(self, path: Path) -> None:
        self._log = open(path, "ab", buffering=0)  # noqa: SIM115 - closed by close()
        self._sequence = itertools.count()
        self._writing = threading.Lock()

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        return self._recorded(action, super().region(action, lock), fields)

    @contextmanager
    def _recorded(
        self, action: str, inner: AbstractContextManager[Any, bool | None], fields: dict[str, Field]
    ) -> Iterator[None]:
        line: dict[str, Any] = {
            "task": threading.current_thread().name,
            "action": action,
            "fields": fields,
            "begin": self.now(),
        }
        try:
            with inner:
                yield
        except BaseException as error:
            line["error"] = type(error).__name__
            raise
        finally:
            line["end"] = self.now()
            with self._writing:  # numbers in the order of the lines
                self._log.write(msgspec.json.encode({"sequence": next(self._sequence), **line}) + b"\n")
