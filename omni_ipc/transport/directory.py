"""A directory of this user's alone, where processes find each other's sockets by name.

A socket's file is called NAME.PID.START after the process that listens on it, so that what a dead process left behind
is known from its name: connecting would not tell, for a forked child may keep the socket open. All access goes through
the directory's descriptor; what its path is made to mean later is of no concern, nor is its length.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import stat
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from omni_ipc.errors import Timeout, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.layout import Signature
from omni_ipc.transport.liveness import ending, this_process

RETRY_S = 0.01

_LOCK_S = 5.0  # it is held for microseconds
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FILE = re.compile(r"(?P<name>[A-Za-z0-9_-]{1,64})\.(?P<pid>[0-9]{1,10})\.(?P<start>[0-9]{1,20})")
_CREDENTIALS = struct.Struct("iII")  # pid, uid, gid


class Directory:
    """The open directory; a context manager."""

    def __init__(self, path: Path | None = None) -> None:
        """Open it, and make it if it is not there.

        Args:
            path: by default "omni_ipc" in XDG_RUNTIME_DIR, or "omni_ipc.UID" in the temporary folder.

        Raises:
            UsageError: it is somebody else's, or others may enter it.
        """
        self.path = path or _default()
        try:
            with contextlib.suppress(FileExistsError):
                self.path.mkdir(mode=0o700)
            self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            raise UsageError(f"'{self.path}' is no directory to meet in: {error.strerror}. Give another one.") from None
        found = os.fstat(self._fd)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != 0o700:
            self.close()
            raise UsageError(
                f"'{self.path}' belongs to user {found.st_uid}, with mode {stat.S_IMODE(found.st_mode):04o}; sockets "
                f"are put only where user {os.geteuid()} alone may look (0700). Give another directory, or remove it."
            )

    def listen(self, rt: Runtime, name: str) -> socket.socket:
        """Serve a name, after what dead processes left behind is swept away.

        Raises:
            UsageError: a process that lives serves it, or it is no name.
            Timeout: another process holds the directory's lock, and does not go on.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(f"'{name}' is no name to meet by. Use up to 64 letters, digits, '-' and '_'.")
        with self._locked(rt):
            self._sweep()
            if (server := self.find(name)) is not None:
                raise UsageError(f"'{name}' is served by process {server.pid} already. Connect to it, or stop it.")
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                listener.bind(self._address(name, this_process()))
                listener.listen()
            except OSError:
                listener.close()
                raise
        return listener

    def connect(self, name: str) -> socket.socket | None:
        """Connect to the process that serves a name; None if none does, now.

        Raises:
            UsageError: it is another user's.
        """
        if (server := self.find(name)) is None:
            return None
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(self._address(name, server))
        except OSError:  # it has just ended, or does not listen yet
            connection.close()
            return None
        if (uid := user_of(connection)) != os.geteuid():
            connection.close()
            raise UsageError(f"'{name}' in '{self.path}' is served by user {uid}. Give a directory of your own.")
        return connection

    def remove(self, name: str) -> None:
        """Remove this process's socket; the process listens no more."""
        self._unlink(_file(name, this_process()))

    def find(self, name: str) -> Signature | None:
        """Find the process that serves a name, and lives."""
        served = (server for _, served, server in self._entries() if served == name)
        return next((server for server in served if ending(server) is None), None)

    def close(self) -> None:
        """Close the descriptor; the directory stays."""
        os.close(self._fd)

    def __enter__(self) -> Directory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _sweep(self) -> None:
        for file, _, server in self._entries():
            if ending(server) is not None:
                self._unlink(file)

    def _entries(self) -> Iterator[tuple[str, str, Signature]]:
        for file in os.listdir(self._fd):
            if match := _FILE.fullmatch(file):
                yield file, match["name"], Signature(int(match["pid"]), int(match["start"]))

    def _unlink(self, file: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file, dir_fd=self._fd)

    def _address(self, name: str, server: Signature) -> str:
        return f"/proc/self/fd/{self._fd}/{_file(name, server)}"

    @contextlib.contextmanager
    def _locked(self, rt: Runtime) -> Iterator[None]:
        """Be the only process that starts here."""
        deadline = rt.now() + _LOCK_S
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if rt.now() > deadline:
                    raise Timeout(
                        f"Another process has held the lock of '{self.path}' for {_LOCK_S:g} s. Look for one that is "
                        f"stopped: fuser -v '{self.path}'."
                    ) from None
                rt.sleep(RETRY_S)
        try:
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)


def user_of(connection: socket.socket) -> int:
    """Tell whose process is at the other end, as the kernel knows it."""
    _, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return int(uid)


def _file(name: str, server: Signature) -> str:
    return f"{name}.{server.pid}.{server.start}"


def _default() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime, "omni_ipc") if runtime else Path(tempfile.gettempdir(), f"omni_ipc.{os.geteuid()}")
