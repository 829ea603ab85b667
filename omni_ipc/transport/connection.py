"""The client's side of a rendezvous: find who serves a name, and become a writer of its port (see rendezvous.py)."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path
from types import TracebackType

from omni_ipc.errors import Timeout
from omni_ipc.seam.api import Runtime
from omni_ipc.transport import wire
from omni_ipc.transport.bell import open_doorbell
from omni_ipc.transport.directory import RETRY_S, Directory
from omni_ipc.transport.guests import Outlet, free_place
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.memory import map_for_good
from omni_ipc.transport.rendezvous import DESCRIPTORS, HANDSHAKE_S, MESSAGE_BYTES, Attached, Hello, Offer
from omni_ipc.transport.writer import LaneWriter


class Connection:
    """A lane to the process that serves a name, and this process's end of it; a context manager.

    Args:
        writer: sends on the lane.
        descriptors: to be given back with it.
    """

    def __init__(self, writer: LaneWriter, descriptors: contextlib.ExitStack) -> None:
        self.writer = writer
        self._descriptors = descriptors

    def close(self, timeout: float = HANDSHAKE_S) -> None:
        """Close the lane, and give back the descriptor of the doorbell; idempotent.

        Raises:
            See `LaneWriter.close`; the descriptor is given back all the same.
        """
        with self._descriptors:
            self.writer.close(timeout)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(
    name: str,
    *,
    rt: Runtime,
    lane: str,
    timeout: float,
    directory: Path | None = None,
    outlet: Outlet | None = None,
) -> Connection:
    """Get a lane to the process that serves a name, as soon as there is one.

    Args:
        name: what it serves.
        rt: this process's runtime.
        lane: what messages on both sides shall call this writer.
        timeout: seconds to wait for the server at most.
        directory: the server's; see `Directory`.
        outlet: of a slab that the server shall be a guest of, for a `Relay`.

    Raises:
        Timeout: nobody served the name, or took clients.
        UsageError: the directory, or the server, is not this user's; or the slab has no place for another guest.
    """
    deadline = rt.now() + timeout
    with Directory(directory) as place:
        while True:
            if (socket_ := place.connect(name)) is not None:
                with socket_:
                    socket_.settimeout(max(deadline - rt.now(), RETRY_S))
                    if (connection := _attach(socket_, rt, lane, outlet)) is not None:
                        return connection
            if rt.now() > deadline:
                raise Timeout(
                    f"Nobody served '{name}' in '{place.path}' within {timeout:g} s. Start its server, or wait longer."
                )
            rt.sleep(RETRY_S)


def _attach(connection: socket.socket, rt: Runtime, name: str, outlet: Outlet | None) -> Connection | None:
    """Take the lane that the server offers; None if the server ends before, or is busy for too long."""
    guest, slab = (free_place(outlet.reader), [outlet.fd]) if outlet else (None, [])
    try:
        socket.send_fds(connection, [wire.encode(Hello(name, guest))], slab)
        data, fds, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, DESCRIPTORS)
    except OSError:
        return None
    with contextlib.ExitStack() as mapped, contextlib.ExitStack() as kept:
        for fd in fds[:-1]:
            mapped.callback(os.close, fd)
        for fd in fds[-1:]:
            kept.callback(os.close, fd)
        if len(fds) != DESCRIPTORS:
            return None
        limit = wire.decode(data, Offer).max_message_bytes
        lane = Lane(rt=rt, buffer=map_for_good(fds[0], name), name=name, max_message_bytes=limit)
        doorbell = open_doorbell(rt=rt, buffer=map_for_good(fds[1], "doorbell"), eventfd=fds[2])
        kept.callback(doorbell.give_up_eventfd)  # a close that found no room may be tried again
        writer = LaneWriter(lane, doorbell=doorbell)
        try:
            connection.send(wire.encode(Attached()))
        except OSError:
            return None
        return Connection(writer, kept.pop_all())
