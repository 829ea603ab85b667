"""A native runtime that writes down each region: what processes really did, to be compared with a spec later.

    with RecordingRuntime(folder) as rt           what this runtime does
    with recorded(folder)                         what every native runtime of this process does
    omni-ipc record -- COMMAND                    and of every process that comes of it (see workflows/recording.py)

See `omni_ipc.recordings` for what is written. What happens between the two lines of a region happens inside its lock,
so the steps under one lock are known in their order, whatever else runs at the same time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.seam.log import Log
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.seam.words import NativeWords


def _heard(log_of: Callable[[Any], Log], native: Mapping[str, Any]) -> Mapping[str, Callable[..., Any]]:
    """Give what a runtime is asked for by code whose steps are taken down, by the names of its methods.

    Args:
        log_of: a runtime -> where its steps are taken down.
        native: the same methods, which take nothing down.
    """

    def region(
        rt: NativeRuntime, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        return log_of(rt).region(rt, action, native["region"](rt, action, lock), lock, fields)

    def watch(rt: NativeRuntime, target: object, guard: api.Lock | api.Condition | None, name: str) -> None:
        log_of(rt).watch(rt, target, guard, name)

    def words(rt: NativeRuntime, buffer: memoryview) -> NativeWords:
        log_of(rt).share(rt, buffer)
        viewed: NativeWords = native["words"](rt, buffer)
        return viewed

    return {"region": region, "watch": watch, "words": words}


def _install(runtime: type[NativeRuntime], methods: Mapping[str, Callable[..., Any]]) -> None:
    for name, method in methods.items():
        setattr(runtime, name, method)


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


_install(RecordingRuntime, _heard(lambda rt: rt._log, vars(NativeRuntime)))  # a view: what it inherits at each call


@contextlib.contextmanager
def recorded(folder: Path) -> Iterator[None]:
    """Take down what every native runtime of this process does, whoever made it, until this is left.

    Raises:
        UsageError: nothing can be written there.
    """
    log = Log(folder)
    native = dict(vars(NativeRuntime))
    heard = _heard(lambda _: log, native)
    _install(NativeRuntime, heard)
    try:
        yield
    finally:
        _install(NativeRuntime, {name: native[name] for name in heard})
        log.close()


_FOR_GOOD = contextlib.ExitStack()


def record_for_good(folder: Path) -> None:
    """Do the same until this process ends."""
    _FOR_GOOD.enter_context(recorded(folder))
