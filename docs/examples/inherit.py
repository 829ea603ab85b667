"""Messages and arrays from a child process, over memory that it inherits: python inherit.py."""

import contextlib
import subprocess
import sys

import msgspec
import numpy as np

from omni_ipc.errors import PeerClosed
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.transport.bell import create_doorbell, open_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.geometry import Geometry
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.writer import LaneWriter

RT = NativeRuntime()


class Image(msgspec.Struct, tag=True):
    """A message; the array travels beside it."""

    name: str


def receive() -> None:
    """Lay a lane, a doorbell and a slab, start the child, and take what it sends."""
    geometry = Geometry()
    sizes = {"lane": lane_bytes(), "doorbell": DOORBELL_BYTES, "slab": geometry.nbytes}
    lane, bell, slab = (
        Segment.create(nbytes, name=name, reserved=geometry.words_bytes if name == "slab" else None)
        for name, nbytes in sizes.items()
    )
    geometry.lay(slab.view)
    reader = LaneReader(
        Lane.create(rt=RT, buffer=lane.view, name="child"), slab=SlabReader(rt=RT, buffer=slab.view, name="child")
    )
    port = Port(rt=RT, lanes=[reader], doorbell=create_doorbell(rt=RT, buffer=bell.view))
    receiver = PortReceiver[Image](port, Image)

    fds = [lane.fd, bell.fd, slab.fd]
    with lane, bell, slab, subprocess.Popen([sys.executable, __file__, *map(str, fds)], pass_fds=fds):
        with contextlib.suppress(PeerClosed):  # the child has said goodbye, and hears that we know
            while True:
                with receiver.receive(timeout=30) as delivery:
                    image = delivery.unpack()["image"]  # a read-only view of the slab: nothing is copied on this side
                    print(f"{delivery.message.name}: {image.shape}, mean {image.mean():.1f}")
                    del image  # its memory is used again, once the `with` ends


def send(lane_fd: int, bell_fd: int, slab_fd: int) -> None:
    """Attach, and send one array that exists already, and one that is made in place."""
    lane, bell, memory = (Segment.attach(fd, name="example") for fd in (lane_fd, bell_fd, slab_fd))
    writer = LaneWriter(Lane(rt=RT, buffer=lane.view, name="child"), doorbell=open_doorbell(rt=RT, buffer=bell.view))
    slab = Slab(rt=RT, buffer=memory.view, name="child", prepare=memory.reserve)
    sender = LaneSender[Image](writer, timeout=10, slab=slab)

    image = np.full((1024, 1024), 7.0, np.float32)
    sender.send(Image("copied once, into the slab"), {"image": image})

    loan = slab.loan(1024 * 1024 * 4, timeout=10)
    loan.as_numpy("float32", (1024, 1024))[:] = 8.0
    sender.send(Image("made in the slab"), {"image": loan})
    sender.close()
    sender.join()  # the reader has taken everything


if __name__ == "__main__":
    if len(sys.argv) > 1:
        send(*map(int, sys.argv[1:]))
    else:
        receive()
