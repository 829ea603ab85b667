"""The ring between real threads: what `omni-ipc record` takes down."""

from __future__ import annotations

import threading
import time

from ring import Ring

from omni_ipc.seam.native import NativeRuntime

RING = Ring(NativeRuntime(), size=2)


def produce(item: str) -> None:
    """Offer an item until it is taken in."""
    while not RING.offer(item):
        time.sleep(0.001)


threads = [threading.Thread(target=produce, args=(item,), name=f"producer {item}") for item in "abc"]
for thread in threads:
    thread.start()
polled = []
while len(polled) < len(threads):
    time.sleep(0.001)
    polled += [item for item in [RING.poll()] if item is not None]
print("polled:", *sorted(polled))
