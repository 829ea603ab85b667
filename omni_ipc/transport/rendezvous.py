"""How processes that did not start each other get their lanes: one serves a name, any number connect to it.

    server: Server("engine")                                   client: connection.connect("engine", lane="worker-1")
      listens in a directory of this user's alone                waits until somebody serves the name
      accept      ◄──────────── Hello: the lane's name ────────  and a slab's descriptor, if it hands on (relay.py)
      lays a lane ───────────── Offer, with descriptors ──────►  attaches as its writer
      port reads it ◄────────── Attached ──────────────────────

Either may start first. The descriptors are all that is shared: the lane has no name, and the socket is closed again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from pathlib import Path
from types import TracebackType

import msgspec

from omni_ipc.errors import FormatError, PeerClosed, Timeout, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport import wire
from omni_ipc.transport.assembly import MAX_MESSAGE_BYTES
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.directory import Directory, user_of
from omni_ipc.transport.guests import GuestReader
from omni_ipc.transport.lane import RING_BYTES, Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.memory import Segment, map_for_good
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader

HANDSHAKE_S = 1.0  # that a client may take for its part, while others wait for theirs
MESSAGE_BYTES = 4096
DESCRIPTORS = 3


class Hello(msgspec.Struct, frozen=True, tag=True):
    """What a client says first."""

    lane: str
    guest: int | None = None  # the server's place in the slab whose descriptor comes with this


class Offer(msgspec.Struct, frozen=True, tag=True):
    """What comes with the descriptors of a lane, its doorbell and the doorbell's eventfd."""

    max_message_bytes: int


class Attached(msgspec.Struct, frozen=True, tag=True):
    """What a client says last: it has signed as the writer."""


class Server:
    """A port that others find by name, and connect to as its writers; a context manager.

    Args:
        rt: this process's runtime.
        name: what it is found by: letters, digits, '-' and '_'.
        directory: where; see `Directory`.
        ring_bytes: of each lane.
        max_message_bytes: that it takes, on each lane.

    Raises:
        UsageError: the name is served already, or the directory is not this user's alone.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        name: str,
        directory: Path | None = None,
        ring_bytes: int = RING_BYTES,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        self.name = name
        self._rt = rt
        self._ring_bytes = ring_bytes
        self._offer = Offer(max_message_bytes)
        with contextlib.ExitStack() as memory, contextlib.ExitStack() as meeting:
            self._eventfd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            memory.callback(os.close, self._eventfd)
            self._doorbell = memory.enter_context(Segment.create(DOORBELL_BYTES, name="omni_ipc.doorbell"))
            bell = create_doorbell(rt=rt, buffer=self._doorbell.view[:], eventfd=self._eventfd)
            self.port = Port(rt=rt, lanes=[], doorbell=bell)
            self.port.growing = True
            place = meeting.enter_context(Directory(directory))
            self._socket = meeting.enter_context(place.listen(rt, name))
            meeting.callback(place.remove, name)
            self._memory, self._meeting = memory.pop_all(), meeting.pop_all()

    def fileno(self) -> int:
        """Give the descriptor that an event loop may watch: readable when somebody connects; ``accept(0)`` then."""
        return self._socket.fileno()

    def accept(self, timeout: float) -> str:
        """Take the next client, whose lane the port reads from now on, and tell the lane's name.

        Raises:
            Timeout: nobody came.
            PeerClosed: the server was stopped.
        """
        deadline = self._rt.now() + timeout
        while True:
            try:
                self._socket.settimeout(max(deadline - self._rt.now(), 0.0))
                connection, _ = self._socket.accept()
            except (BlockingIOError, TimeoutError):
                raise Timeout(f"Nobody connected to '{self.name}' within {timeout:g} s. Wait longer.") from None
            except OSError:
                raise PeerClosed(f"'{self.name}' was stopped, and takes no more clients.") from None
            with connection:
                connection.settimeout(HANDSHAKE_S)
                if user_of(connection) == os.geteuid() and (lane := self._welcome(connection)) is not None:
                    self.port.add(lane)
                    return lane.name

    def stop(self) -> None:
        """Take no more clients; the port goes on until those that came have closed. Idempotent."""
        with self._meeting:
            self.port.growing = False
            with contextlib.suppress(OSError):  # it is stopped already
                self._socket.shutdown(socket.SHUT_RDWR)  # ends the accept that another task waits in

    def close(self) -> None:
        """Stop, and close the port too; idempotent."""
        self.stop()
        with self._memory:
            self.port.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _welcome(self, connection: socket.socket) -> LaneReader | None:
        """Hand out a lane; None if the client does not keep to the protocol, or is gone."""
        try:
            data, fds, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 1)
            with contextlib.ExitStack() as theirs:
                for fd in fds:
                    theirs.callback(os.close, fd)
                hello = wire.decode(data, Hello)
                slab = None if hello.guest is None or not fds else self._become_guest(fds[0], hello)
            name = hello.lane
            with Segment.create(lane_bytes(self._ring_bytes), name="omni_ipc.lane") as segment:
                lane = Lane.create(
                    rt=self._rt,
                    buffer=segment.view[:],  # keeps the mapping for as long as the lane is in use
                    name=name,
                    max_message_bytes=self._offer.max_message_bytes,
                )
                fds = [segment.fd, self._doorbell.fd, self._eventfd]
                socket.send_fds(connection, [wire.encode(self._offer)], fds)
            wire.decode(connection.recv(MESSAGE_BYTES), Attached)
        except (OSError, FormatError, UsageError):
            return None
        return LaneReader(lane, slab=slab)

    def _become_guest(self, fd: int, hello: Hello) -> GuestReader:
        """Take the place that the client names in the slab of its outputs, if nobody else takes one right now.

        A place is looked at and signed in two steps. Of two that take one at a time, the other is refused, and comes
        again; the lock goes with its process, so nobody is kept out by a dead one.
        """
        memory = map_for_good(fd, hello.lane)
        with open(f"/proc/self/fd/{fd}", "rb") as slab:  # opened anew: a received descriptor shares its sender's locks
            fcntl.flock(slab, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return GuestReader(rt=self._rt, buffer=memory, name=hello.lane, reader=hello.guest or 0)
