"""The memory that an engine shares with its workers, and the engine's ends of it.

    engine                                                            worker of each rank
    requests ══ a lane each, with the engine's slab (one for all) ═══► main loop
    results  ◄═ two lanes each, with that worker's slab ═════════════  main loop, output thread
       └ one port, one doorbell

A message to the workers goes to all of them, or to none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import Command, Reply
from omni_ipc.serving.spec import DOORBELLS, ENGINE_SLAB, LANES, MOST_BYTES, SEND_TIMEOUT_S, SLAB
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.guests import Outlet
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.writer import LaneWriter

INPUT_CLASSES = tuple(SlotClass(1 << power, min(16, max(2, (64 << 20) >> power))) for power in range(17, 32))
"""Of the engine: 128 KiB to 2 GiB, for the inputs of requests; what finds no slot goes to all ranks in pieces."""

GUESTS = 4
"""Processes that outputs may be handed on to, at a time."""


class Lanes:
    """One engine's lanes to and from its workers; a context manager that unmaps them.

    Args:
        rt: the engine's runtime.
        ranks: workers.
        ring_bytes: of each lane.
        slab_classes: of the slab that each worker's outputs come in.
    """

    requests: Sender[Command]
    results: Receiver[Reply]

    def __init__(self, rt: Runtime, *, ranks: int, ring_bytes: int, slab_classes: Sequence[SlotClass]) -> None:
        self._rt = rt
        with contextlib.ExitStack() as memory:
            self._memory = memory
            self._bell = self._segment(DOORBELLS[0], DOORBELL_BYTES)
            self._doorbell = create_doorbell(rt=rt, buffer=self._bell.view)
            self._inputs = self._slab(ENGINE_SLAB, Geometry(INPUT_CLASSES, readers=ranks))
            self._of_ranks: list[list[Segment]] = []
            self._leases: list[SlabReader] = []
            writers: list[LaneWriter] = []
            readers: list[LaneReader] = []
            for rank in range(ranks):
                writer, ends = self._lay(rank, lane_bytes(ring_bytes), Geometry(slab_classes, guests=GUESTS))
                writers.append(writer)
                readers += ends
            inputs = Slab(rt=rt, buffer=self._inputs.view, name=ENGINE_SLAB, prepare=self._inputs.reserve)
            self.requests = LaneSender(*writers, timeout=SEND_TIMEOUT_S, slab=inputs)
            self.results = PortReceiver(Port(rt=rt, lanes=readers, doorbell=self._doorbell), Reply)
            self._memory = memory.pop_all()

    def descriptors(self, rank: int) -> list[int]:
        """Give the descriptors of `SEGMENTS` for one worker."""
        requests, replies, outputs, bell, slab = self._of_ranks[rank]
        return [segment.fd for segment in (requests, replies, outputs, self._bell, bell, slab, self._inputs)]

    def outlet(self, rank: int) -> Outlet:
        """Give what it takes to hand the outputs of a worker on to another process."""
        return Outlet(self._leases[rank], self._of_ranks[rank][-1].fd)

    def close(self) -> None:
        """Unmap everything; what outputs still look at stays until they go. Idempotent."""
        self._memory.close()

    def _lay(self, rank: int, nbytes: int, geometry: Geometry) -> tuple[LaneWriter, list[LaneReader]]:
        """Lay lanes, doorbell and slab of one worker into fresh segments, and take the engine's ends of them."""
        names = [name.replace("worker", f"worker-{rank}") if rank else name for name in (*LANES, DOORBELLS[1], SLAB)]
        memory = [self._segment(name, nbytes) for name in names[:3]]
        memory += [self._segment(names[3], DOORBELL_BYTES), self._slab(names[4], geometry)]
        self._of_ranks.append(memory)
        requests, *answers = (
            Lane.create(rt=self._rt, buffer=segment.view, name=name, max_message_bytes=MOST_BYTES)
            for segment, name in zip(memory[:3], names, strict=False)
        )
        theirs = create_doorbell(rt=self._rt, buffer=memory[3].view)
        leases = SlabReader(rt=self._rt, buffer=memory[4].view, name=names[4])
        self._leases.append(leases)
        writer = LaneWriter(requests, doorbell=theirs, slab_reader=rank)
        return writer, [LaneReader(lane, slab=leases) for lane in answers]

    def _segment(self, name: str, nbytes: int) -> Segment:
        return self._memory.enter_context(Segment.create(nbytes, name=f"omni_ipc.{name}"))

    def _slab(self, name: str, geometry: Geometry) -> Segment:
        segment = Segment.create(geometry.nbytes, name=f"omni_ipc.{name}", reserved=geometry.words_bytes)
        self._memory.enter_context(segment)
        geometry.lay(segment.view)
        return segment
