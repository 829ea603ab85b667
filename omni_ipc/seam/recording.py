"""A native runtime that writes down each region: what processes really did, to be compared with a spec later.

    with RecordingRuntime(folder) as rt           what this runtime does
    with recorded(folder)                         what every native runtime of this process does
    omni-ipc record -- COMMAND                    and of every process that comes of it (see workflows/recording.py)

See `omni_ipc.recordings` for what is written. What happens between the two lines of a region happens inside its lock,
so the steps under one lock are known in their order, whatever else runs at the same time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.seam.log import Log
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.seam.words import NativeWords, native_words

_HEARD = ("region", "watch", "words")


class RecordingRuntime(NativeRuntime):
    """Takes down every region; a context manager.

    Args:
        folder: this process's file lies there.

    Raises:
        UsageError: nothing can be written there.
    """

    def __init__(self, folder: Path | str) -> None:
        self._log = Log(Path(folder))

    def __enter__(self) -> RecordingRuntime:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Say that nothing was left unsaid, and take down nothing more."""
        self._log.close()

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        return self._log.region(self, action, super().region(action, lock), lock, fields)

    def watch(self, target: object, guard: api.Lock | api.Condition | None, name: str) -> None:
        """Take down how the object changes, from now on."""
        self._log.watch(self, target, guard, name)

    def words(self, buffer: memoryview) -> NativeWords:
        self._log.share(self, buffer)
        return super().words(buffer)


@contextlib.contextmanager
def recorded(folder: Path) -> Iterator[None]:
    """Take down what every native runtime of this process does, whoever made it, until this is left.

    Raises:
        UsageError: nothing can be written there.
    """
    native = {name: vars(NativeRuntime)[name] for name in _HEARD}
    log = Log(folder)

    def region(
        rt: NativeRuntime, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        return log.region(rt, action, native["region"](rt, action, lock), lock, fields)

    def watch(rt: NativeRuntime, target: object, guard: api.Lock | api.Condition | None, name: str) -> None:
        log.watch(rt, target, guard, name)

    def words(rt: NativeRuntime, buffer: memoryview) -> NativeWords:
        log.share(rt, buffer)
        return native_words(buffer)

    for name, method in {"region": region, "watch": watch, "words": words}.items():
        setattr(NativeRuntime, name, method)
    try:
        yield
    finally:
        for name, method in native.items():
            setattr(NativeRuntime, name, method)
        log.close()


_FOR_GOOD = contextlib.ExitStack()


def record_for_good(folder: Path) -> None:
    """Do the same until this process ends."""
    _FOR_GOOD.enter_context(recorded(folder))
