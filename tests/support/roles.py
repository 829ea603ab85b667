"""What children of a zygote do: the first arguments are descriptors, the rest is JSON."""

from __future__ import annotations

import itertools
import os
import signal
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from omni_ipc.errors import PeerClosed, UsageError
from omni_ipc.transport.connection import connect
from omni_ipc.transport.layout import FRAGMENT
from omni_ipc.transport.port import Port
from omni_ipc.transport.rendezvous import Server
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT, attach_port, attach_writer, inbound

PATIENCE_S = 60.0

NOISE = bytes(zlib.crc32(b"%d" % n) & 0xFF for n in range(1 << 15))
_SIZES = (0, 8, 100, 900, 3, 2_500, 40, 9_000)  # the last ones need fragments in a ring of 4 KiB


def body_of(number: int) -> bytes:
    """Make the body of a message: its number, and bytes that follow from it, of small and large sizes."""
    start = number * 13 % 4096
    return b"%d:" % number + NOISE[start : start + _SIZES[number % len(_SIZES)]]


def write_for_ever(*fds: int) -> None:
    """Send numbered messages until killed."""
    writer = attach_writer(*fds)
    for number in itertools.count():
        writer.send(body_of(number), timeout=PATIENCE_S)


def write(*fds: int, count: int, then: str) -> None:
    """Send that many messages; then close, exit without a word, or pause."""
    writer = attach_writer(*fds)
    for number in range(count):
        writer.send(body_of(number), timeout=PATIENCE_S)
    if then == "close":
        writer.close(PATIENCE_S)
    elif then == "pause":
        signal.pause()


def write_with_a_stop_amid_fragments(*fds: int) -> None:
    """Send a message in many fragments, of which the third comes only after SIGCONT; then a small one."""
    writer = attach_writer(*fds)
    _before(writer, 3, lambda: os.kill(os.getpid(), signal.SIGSTOP))
    writer.send(NOISE, timeout=PATIENCE_S)
    writer.send(b"small", timeout=PATIENCE_S)
    writer.close(PATIENCE_S)


def _before(writer: LaneWriter, fragment: int, do: Callable[[], None]) -> None:
    write, fragments = writer.lane.write, itertools.count(1)

    def counted(position: int, data: bytes | memoryview) -> int:
        if len(data) > FRAGMENT.size and next(fragments) == fragment:
            do()
        return write(position, data)

    writer.lane.write = counted  # type: ignore[method-assign]


def fork_and_write(*fds: int, count: int) -> None:
    """Leave a forked child behind that holds every descriptor and mapping; send, and pause."""
    writer = attach_writer(*fds)
    if os.fork() == 0:
        signal.pause()
    for number in range(count):
        writer.send(body_of(number), timeout=PATIENCE_S)
    signal.pause()


def read_for_ever(*fds: int) -> None:
    """Take numbered messages until killed, or until the lane is closed."""
    _read(attach_port(*fds))


def read(*fds: int, count: int, then: str) -> None:
    """Take that many messages; then close, exit without a word, or pause."""
    port = attach_port(*fds)
    for expected in range(count):
        assert bytes(port.receive(PATIENCE_S)[1].body) == body_of(expected)
    if then == "close":
        port.close()
    elif then == "pause":
        signal.pause()


def keep(*fds: int, count: int) -> None:
    """Take that many messages, and keep them until killed."""
    port = attach_port(*fds)
    kept = [port.receive(PATIENCE_S) for _ in range(count)]
    assert len(kept) == count
    signal.pause()


def read_in_a_forked_process(*fds: int) -> None:
    """Leave a forked child behind that holds every descriptor and mapping, and take messages."""
    port = attach_port(*fds)
    if os.fork() == 0:
        signal.pause()
    _read(port)


def expect_huge_and_small(*fds: int) -> None:
    """Take one huge message, and small numbered ones up to the close."""
    port = attach_port(*fds)
    assert bytes(port.receive(PATIENCE_S)[1].body) == NOISE * 12
    assert [int(body) for body in _bodies(port)] == list(range(20))


def _read(port: Port) -> None:
    with suppress(PeerClosed):
        for expected in itertools.count():
            assert bytes(port.receive(PATIENCE_S)[1].body) == body_of(expected)


def tree(*fds: int, directory: str, name: str) -> None:
    """Be a whole world: serve a name, with a writer to the outside, and a writer and a reader among the children."""
    with inbound("inside") as inside, Server(rt=RT, name=name, directory=Path(directory)):
        for role, descriptors in ((write_for_ever, fds), (write_for_ever, inside.fds["inside"])):
            if os.fork() == 0:
                role(*descriptors)
        for expected in itertools.count():
            assert bytes(inside.port.receive(PATIENCE_S)[1].body) == body_of(expected)


def serve(*, name: str, directory: str, expected: int) -> None:
    """Serve a name until that many clients have come and closed."""
    with Server(rt=RT, name=name, directory=Path(directory)) as server:
        for _ in range(expected):
            server.accept(PATIENCE_S)
        server.stop()
        for _ in _bodies(server.port):
            pass


def serve_if_first(*fds: int, name: str, directory: str) -> None:
    """Serve a name, or find that another process does; say which, and pause."""
    writer = attach_writer(*fds)
    try:
        with Server(rt=RT, name=name, directory=Path(directory)):
            writer.send(b"first", timeout=PATIENCE_S)
            signal.pause()
    except UsageError as error:
        writer.send(str(error).encode(), timeout=PATIENCE_S)
        writer.close(PATIENCE_S)


def serve_and_leave_a_child(*fds: int, name: str, directory: str) -> None:
    """Serve a name, leave a forked child behind that holds the socket, and die."""
    with Server(rt=RT, name=name, directory=Path(directory)):
        child = os.fork()
        if child == 0:
            signal.pause()
        attach_writer(*fds).send(b"%d" % child, timeout=PATIENCE_S)
        os.kill(os.getpid(), signal.SIGKILL)


def connect_and_write(*, name: str, lane: str, directory: str, count: int) -> None:
    """Connect to whoever serves the name, send, close, and prove that everything was received."""
    with connect(name, rt=RT, lane=lane, timeout=PATIENCE_S, directory=Path(directory)) as connection:
        for number in range(count):
            connection.writer.send(body_of(number), timeout=PATIENCE_S)
        connection.writer.close(PATIENCE_S)
        connection.writer.join(PATIENCE_S)


def _bodies(port: Port) -> Iterator[bytes]:
    while not port.ended:
        with suppress(PeerClosed):
            yield bytes(port.receive(PATIENCE_S)[1].body)
