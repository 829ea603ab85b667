"""A process that arrays are handed on to: it serves a name, looks at what comes, and tells what it saw.

python -m tests.support.guests DIRECTORY NAME THEN
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec

from omni_ipc.errors import PeerClosed
from omni_ipc.transport.channel import PortReceiver
from omni_ipc.transport.rendezvous import Server
from tests.support.lanes import RT

PATIENCE_S = 60.0


class Picture(msgspec.Struct, tag=True):
    """What comes beside the arrays."""

    name: str


def main() -> None:
    """Take what comes; keep all of it, until the sender closes, or for ever."""
    directory, name, then = sys.argv[1:]
    with Server(rt=RT, name=name, directory=Path(directory)) as server:
        server.accept(PATIENCE_S)
        server.stop()
        receiver = PortReceiver[Picture](server.port, Picture)
        kept = []
        try:
            while True:
                delivery = receiver.receive(PATIENCE_S)
                tree = delivery.unpack()
                print(delivery.message.name, *(int(array.sum()) for array in tree), flush=True)
                if then == "keep":
                    kept.append(tree)
                del tree, delivery
                if then == "die":
                    os.kill(os.getpid(), signal.SIGKILL)
        except PeerClosed:
            print("closed", *(int(array.sum()) for tree in kept for array in tree), flush=True)


if __name__ == "__main__":
    main()
