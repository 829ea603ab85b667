"""The log of one process: takes its steps down, a line each, in a file of its own.

It takes no lock: each thread numbers its own lines, and a line is one write at the end of the file. So it may be used
inside of signal handlers and destructors, and behind a fork, where the child begins a file of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import fcntl
import itertools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.recordings import RECORDING_VERSION, SUFFIX, Begun, Closed, Ended, Line, Memory, Process, Watched
from omni_ipc.records import Field
from omni_ipc.seam.watched import Snapshot

_LOGS: weakref.WeakSet[Log] = weakref.WeakSet()


class Log:
    """Takes down what the runtimes of a process do.

    Args:
        folder: where this process, and each that is forked off it, makes its file.

    Raises:
        UsageError: nothing can be written there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()  # the program may go elsewhere
        self._steps = itertools.count()
        self._runtimes: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
        self._made = itertools.count(1)
        self._objects = itertools.count(1)
        self._threads = itertools.count(1)
        self._hands = threading.local()
        self._written: dict[int, int] = {}  # lines, by thread
        self._watched: dict[int, list[Snapshot]] = {}  # by the identity of the lock that guards them
        self._known: list[Callable[[int, int], Line]] = []  # what a forked process must know, too
        self._inodes: set[tuple[int, int]] = set()
        self._fd = self._begin()
        _LOGS.add(self)
        atexit.register(self.close)

    def close(self) -> None:
        """Say that nothing was left unsaid, and take down nothing more; idempotent."""
        if self._fd >= 0:
            lines = sum([*self._written.values()])
            self._write(lambda thread, number: Closed(thread, number, lines))
            fd, self._fd = self._fd, -1
            _close(fd)
        atexit.unregister(self.close)
        _LOGS.discard(self)

    def share(self, rt: object, buffer: memoryview) -> None:
        """Take down that a runtime uses a buffer, if that is memory of a file, which others may have mapped too."""
        runtime, inode = self._number_of(rt), _inode_of(buffer)
        if inode and (runtime, inode) not in self._inodes:
            self._inodes.add((runtime, inode))
            self._tell(lambda thread, number: Memory(thread, number, runtime, inode))

    def watch(self, rt: object, target: object, guard: object, name: str) -> None:
        """Look at an object whenever somebody leaves a region of its guard."""
        if guard is None:
            return
        runtime, snapshot = self._number_of(rt), Snapshot(target, guard, next(self._objects))
        first = tuple(snapshot.changes())
        self._tell(lambda thread, number: Watched(thread, number, runtime, snapshot.number, name, first))
        alive = [each for each in self._watched.get(id(guard), ()) if each.guards(guard)]
        # Once it was told of: who is killed has looked at nothing unknown.
        self._watched[id(guard)] = [*alive, snapshot]

    def region(
        self,
        rt: object,
        action: str,
        inner: AbstractContextManager[Any, bool | None],
        lock: object,
        fields: dict[str, Field],
    ) -> AbstractContextManager[Any, bool | None]:
        """Give a region that is taken down, around the region itself."""
        return _Recorded(self, self._number_of(rt), action, inner, lock, fields)

    def begin(self, runtime: int, action: str, fields: dict[str, Field]) -> tuple[int, int]:
        """Take down that a region has begun; returns what `end` wants to know."""
        step, now = next(self._steps), time.monotonic_ns()
        task = threading.current_thread().name
        self._write(lambda thread, number: Begun(thread, number, step, now, runtime, task, action, fields))
        return os.getpid(), step

    def end(self, begun: tuple[int, int], lock: object, error: type[BaseException] | None) -> None:
        """Take down that it ends; what was begun in another process is none of this one's."""
        process, step = begun
        objects = [each for each in self._watched.get(id(lock), ()) if each.guards(lock)]
        looked = tuple(each.number for each in objects)
        changes = tuple(change for each in objects for change in each.changes())
        if process == os.getpid():
            now, name = time.monotonic_ns(), error.__name__ if error else None
            self._write(lambda thread, number: Ended(thread, number, step, now, name, looked, changes))

    def reopen(self) -> None:
        """Begin a file of this process, which was just forked off another one."""
        fd, self._fd = self._fd, -1
        _close(fd)  # before there is another one, which may have its number if the program has closed it
        self._hands, self._written = threading.local(), {}
        self._fd = self._begin()
        for line in self._known:
            self._write(line)

    def _begin(self) -> int:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            fd = self._create(os.getpid())
        except OSError as error:
            raise UsageError(f"Cannot record to '{self._folder}': {error.strerror}. Choose another folder.") from None
        program, *arguments = sys.orig_argv
        command = " ".join([os.path.basename(program), *arguments])[:500]
        line = Process(0, 0, RECORDING_VERSION, os.getpid(), os.getppid(), command)
        os.write(fd, _encoded(line))
        self._written[0] = 1
        return fd

    def _create(self, pid: int) -> int:
        """Make a file for a process whose id may have been another's before."""
        for attempt in itertools.count(1):
            self._path = self._folder / f"{pid}-{attempt}{SUFFIX}"
            with contextlib.suppress(FileExistsError):
                return _beyond_standard(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644))
        raise AssertionError("numbers do not end")

    def _number_of(self, rt: object) -> int:
        found = self._runtimes.get(rt)
        return self._runtimes.setdefault(rt, next(self._made)) if found is None else found

    def _hand(self) -> _Hand:
        if (hand := getattr(self._hands, "hand", None)) is None:
            hand = self._hands.hand = _Hand(next(self._threads))
        return cast("_Hand", hand)

    def _tell(self, line: Callable[[int, int], Line]) -> None:
        self._known.append(line)
        self._write(line)

    def _write(self, line: Callable[[int, int], Line]) -> None:
        fd = self._fd
        if fd < 0:
            return
        hand = self._hand()
        data = _encoded(line(hand.thread, next(hand.numbers)))
        try:
            if self._append(fd, data) == len(data):
                self._written[hand.thread] = self._written.get(hand.thread, 0) + 1
                return
        except OSError:
            pass
        with contextlib.suppress(OSError):  # a recording with a hole is worse than none, which says so itself
            os.ftruncate(fd, 0)

    def _append(self, fd: int, data: bytes) -> int:
        """Write at the end of the file, also if the program has closed all descriptors that it found open."""
        try:
            return os.write(fd, data)
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
        self._fd = _beyond_standard(os.open(self._path, os.O_WRONLY | os.O_APPEND))
        return os.write(self._fd, data)


class _Hand:
    """What a thread writes with: its number, and those of its lines."""

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.numbers = itertools.count()


class _Recorded:
    """A region, and around what happens inside of its lock two lines."""

    __slots__ = ("_action", "_begun", "_fields", "_inner", "_lock", "_log", "_runtime")

    def __init__(
        self,
        log: Log,
        runtime: int,
        action: str,
        inner: AbstractContextManager[Any, bool | None],
        lock: object,
        fields: dict[str, Field],
    ) -> None:
        self._log = log
        self._runtime = runtime
        self._action = action
        self._inner = inner
        self._lock = lock
        self._fields = fields

    def __enter__(self) -> None:
        self._inner.__enter__()
        try:
            self._begun = self._log.begin(self._runtime, self._action, self._fields)
        except BaseException:  # Ctrl-C, which must not leave the lock taken
            self._inner.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._log.end(self._begun, self._lock, kind)
        finally:
            self._inner.__exit__(kind, error, trace)


def _encoded(line: Line) -> bytes:
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:  # of what is no text: arguments and names of files may be any bytes
        return msgspec.json.encode(_escaped(msgspec.to_builtins(line))) + b"\n"


def _escaped(value: Any) -> Any:
    """Write out what of strings is no character, as in "caf\\udce9"."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_escaped(key): _escaped(item) for key, item in value.items()}
        case list() | tuple():
            return [_escaped(item) for item in value]
    return value


def _reopen_all() -> None:
    for log in list(_LOGS):
        log.reopen()


os.register_at_fork(after_in_child=_reopen_all)


def _close(fd: int) -> None:
    with contextlib.suppress(OSError):  # the program may have closed all that it found open
        os.close(fd)


def _beyond_standard(fd: int) -> int:
    """Move a descriptor away from 0, 1 and 2, which the program may have closed, and may yet print to."""
    if fd > 2:
        return fd
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(fd)


def _inode_of(buffer: memoryview) -> int:
    """Find the file that a buffer is mapped from; 0 if it is none."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    for begin, end, inode in _mappings():
        if begin <= address < end:
            return inode
    return 0


def _mappings() -> Iterator[tuple[int, int, int]]:
    with open("/proc/self/maps") as lines:
        for line in lines:
            extent, _, _, _, inode, *_ = line.split()
            begin, _, end = extent.partition("-")
            yield int(begin, 16), int(end, 16), int(inode)
