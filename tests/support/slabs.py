"""Slabs to test with, in plain memory: a writer's end, and one lane to each reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from omni_ipc.seam.api import Runtime
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT, plain_lane

SMALL = (SlotClass(1 << 10, 2), SlotClass(1 << 12, 2))


class Note(msgspec.Struct, tag=True):
    """A message to send trees beside."""

    text: str = ""


class Shop:
    """A slab in plain memory, and for each of its readers a lane, its writer's end and its reader's end."""

    def __init__(
        self,
        classes: Sequence[SlotClass] = SMALL,
        *,
        readers: int = 1,
        guests: int = 0,
        ring_bytes: int = 1 << 16,
        rt: Runtime = RT,
        slab: type[Slab] = Slab,
        reader: type[SlabReader] = SlabReader,
        poison: bool = False,
    ) -> None:
        self.geometry = Geometry(classes, readers=readers, guests=guests)
        self.memory = memoryview(bytearray(self.geometry.nbytes))
        self.geometry.lay(self.memory)
        self.slab = slab(rt=rt, buffer=self.memory, name="slab", poison=poison)
        self.ends = [reader(rt=rt, buffer=self.memory, name="slab", reader=number) for number in range(readers)]
        lanes = [plain_lane(ring_bytes, rt=rt, name=f"to {number}") for number in range(readers)]
        self.bells = [create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES))) for _ in range(readers)]
        self.writers = [
            LaneWriter(lane, doorbell=bell, slab_reader=number)
            for number, (lane, bell) in enumerate(zip(lanes, self.bells, strict=True))
        ]
        self.readers = [LaneReader(lane, slab=end) for lane, end in zip(lanes, self.ends, strict=True)]
        self.receivers: list[PortReceiver[Any]] = [
            PortReceiver(Port(rt=rt, lanes=[lane], doorbell=bell), Note)
            for lane, bell in zip(self.readers, self.bells, strict=True)
        ]

    def sender(self, timeout: float = 0, *, slab: bool = True) -> LaneSender[Note]:
        """Make the sender to every reader."""
        return LaneSender(*self.writers, timeout=timeout, slab=self.slab if slab else None)

    def free(self) -> int:
        """Count the slots that a loan may get now, by taking them all."""
        return self.geometry.slots - self.slab.held() - self.lent()

    def lent(self) -> int:
        """Count the slots that are lent to producers."""
        stock = self.slab._stock
        stock._settle()
        return self.geometry.slots - sum(len(shelf.free) + len(shelf.held) for shelf in stock._shelves)
