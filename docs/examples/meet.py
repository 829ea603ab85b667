"""Processes that did not start each other meet by name; the reader is an event loop: python meet.py."""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from omni_ipc.errors import PeerClosed
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.transport.connection import connect
from omni_ipc.transport.rendezvous import Server

RT = NativeRuntime()


def send(directory: Path, number: str) -> None:
    """Find who serves "results", whether it is there already or not, and send to it."""
    with connect("results", rt=RT, lane=f"worker {number}", timeout=30, directory=directory) as connection:
        connection.writer.send(b"ready", timeout=10)
        connection.writer.send_many([b"%d" % step for step in range(3)], timeout=10)


async def receive(directory: Path) -> None:
    """Serve the name, let two processes connect, and take what they send until both have closed."""
    with Server(rt=RT, name="results", directory=directory) as server:
        children = [subprocess.Popen([sys.executable, __file__, str(directory), number]) for number in ("one", "two")]
        for _ in children:
            await asyncio.to_thread(server.accept, 30)
        server.stop()  # nobody else may connect, so that the port ends with its writers
        received: dict[str, list[str]] = {}
        while not server.port.ended:
            try:
                lane, message = await server.port.receive_async(timeout=30)
                received.setdefault(lane, []).append(bytes(message.body).decode())
            except PeerClosed:  # one writer has said goodbye
                continue
        for lane in sorted(received):
            print(f"{lane}: {', '.join(received[lane])}")
        for child in children:
            child.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        send(Path(sys.argv[1]), sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as folder:  # made with mode 0700; without it, your runtime directory is used
            asyncio.run(receive(Path(folder)))
