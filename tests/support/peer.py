"""The other process of a lane test; imports no torch.

python -m tests.support.peer ROLE THERE_FD THERE_DOORBELL_FD BACK_FD BACK_DOORBELL_FD
"""

from __future__ import annotations

import os
import signal
import sys

from omni_ipc.errors import PeerClosed
from omni_ipc.transport.bell import open_doorbell
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.layout import RECORD
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT

PATIENCE_S = 60.0


def echo(port: Port, writer: LaneWriter) -> None:
    """Send back what comes, until the lane is closed; then close the other one."""
    try:
        while True:
            _, message = port.receive(PATIENCE_S)
            writer.send(bytes(message.body), message.tensors, timeout=PATIENCE_S, kind=message.kind)
    except PeerClosed:
        writer.close(PATIENCE_S)


def count(port: Port, writer: LaneWriter) -> None:
    """Check that numbers come in order, and send back how many came."""
    expected = 0
    try:
        while True:
            assert int(port.receive(PATIENCE_S)[1].body) == expected
            expected += 1
    except PeerClosed:
        writer.send(b"%d" % expected, timeout=PATIENCE_S)


def die_after_sending(port: Port, writer: LaneWriter) -> None:
    """Send three messages, and die without a word."""
    for number in range(3):
        writer.send(b"%d" % number, timeout=PATIENCE_S)
    os.kill(os.getpid(), signal.SIGKILL)


def die_while_writing(port: Port, writer: LaneWriter) -> None:
    """Send one message, and die when half of the next one is written."""
    writer.send(b"whole", timeout=PATIENCE_S)
    write = writer.lane.write

    def write_half(position: int, data: bytes | memoryview) -> int:
        if len(data) > RECORD.size:
            write(position, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(position, data)

    writer.lane.write = write_half  # type: ignore[method-assign]
    writer.send(b"half" * 100, timeout=PATIENCE_S)


def main() -> None:
    """Attach, and play the role."""
    role, *fds = sys.argv[1:]
    there, there_bell, back, back_bell = (Segment.attach(int(fd), name="test") for fd in fds)
    reader = LaneReader(Lane(rt=RT, buffer=there.view, name="there"))
    port = Port(rt=RT, lanes=[reader], doorbell=open_doorbell(rt=RT, buffer=there_bell.view))
    writer = LaneWriter(
        Lane(rt=RT, buffer=back.view, name="back"), doorbell=open_doorbell(rt=RT, buffer=back_bell.view)
    )
    {"echo": echo, "count": count, "die_after_sending": die_after_sending, "die_while_writing": die_while_writing}[
        role
    ](port, writer)
    assert "torch" not in sys.modules


if __name__ == "__main__":
    main()
