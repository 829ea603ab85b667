"""The conductor's end of its connections: one for each process, on which messages come and go, a line each."""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Callable, Iterator

import msgspec

from omni_ipc.seam.turn_messages import Heard, Said

News = tuple[socket.socket, Said | None]
"""What a process has said, by its connection; None once it has left, or died."""


class Connections:
    """Made by any thread, used by the conductor's own."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()  # tells of new connections, and of the end
        self._selector.register(self._bell, selectors.EVENT_READ, None)
        self._unregistered: list[socket.socket] = []

    def connect(self) -> socket.socket:
        """Make a connection for one process, and give its end."""
        ours, theirs = socket.socketpair()
        self._unregistered.append(ours)
        self.ring()
        return theirs

    def ring(self) -> None:
        """Let whoever waits for news look again."""
        self._ring.send(b"!")

    def hear(self, timeout_s: float | None, greet: Callable[[], Heard | None]) -> list[News] | None:
        """Wait for news.

        Args:
            timeout_s: without a limit if None.
            greet: what to tell a process that comes now.

        Returns:
            What was said, in its order; None if the time is up.
        """
        ready = self._selector.select(timeout_s)
        news: list[News] = []
        for key, _ in ready:
            if key.data is None:
                self._let_in(greet)
            else:
                news += [(key.data.connection, message) for message in key.data.read()]
        return news if ready else None

    def tell(self, connection: socket.socket, message: Heard) -> None:
        """Tell one process something."""
        with contextlib.suppress(OSError):  # it has left; the selector will say so
            connection.sendall(msgspec.json.encode(message) + b"\n")

    def tell_all(self, message: Heard) -> None:
        """Tell every process something."""
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                self.tell(key.data.connection, message)

    def forget(self, connection: socket.socket) -> None:
        """Close a connection whose process has left."""
        self._selector.unregister(connection)
        connection.close()

    def close(self) -> None:
        """Close all of them."""
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]  # only sockets are registered
        for connection in self._unregistered:
            connection.close()
        self._ring.close()
        self._selector.close()

    def _let_in(self, greet: Callable[[], Heard | None]) -> None:
        self._bell.recv(64)
        while self._unregistered:
            connection = self._unregistered.pop()
            self._selector.register(connection, selectors.EVENT_READ, _Lines(connection))
            if (greeting := greet()) is not None:
                self.tell(connection, greeting)


class _Lines:
    """Reads the messages of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._rest = b""

    def read(self) -> Iterator[Said | None]:
        """Give what has come; None at last if it was closed."""
        try:
            data = self.connection.recv(65536)
        except OSError:
            data = b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield _DECODER.decode(line)
        if not data:
            yield None


_DECODER = msgspec.json.Decoder(Said)
