"""One end of a lane: what its side has done so far, how it ended, and what was wrong with it."""

from __future__ import annotations

from collections.abc import Mapping

from omni_ipc.records import Field
from omni_ipc.scenarios.lane_memory import RECORDS, LaneMemory, parts_of
from omni_ipc.seam.api import Task
from omni_ipc.transport.layout import Side

CLOSED, TOLD, BROKEN, DEAD = "closed", "told", "broken", "dead"
"""How a side may end: all was sent and taken, it heard of a death, it met what is no record, or it was killed."""


class LaneEnd:
    """Hears of each access of its side, within that step.

    Attributes:
        peer: the other end.
        task: that plays the side, once it is started.
        ending: how it ended; None while it goes on, and for ever if it was killed.
        taken: the records that it copied out, as (head, tail).
        complaints: what was wrong, a sentence each.
        counted: the record that it counted last, as its writer.
        last: its last access that was a step.
    """

    peer: LaneEnd

    def __init__(self, memory: LaneMemory, side: Side) -> None:
        self.name = side.name.lower()
        self.task: Task | None = None
        self.ending: str | None = None
        self.taken: list[tuple[int, int]] = []
        self.complaints: list[str] = []
        self.counted = memory.written
        self.last = ""
        self._memory = memory
        self._side = side
        self._rings_soon = False  # it has stored what the other one may wait for

    def peer_is_dead(self) -> bool:
        """Ask the system whether the process at the other end was killed: a fence, as each call of it is one."""
        task = self.peer.task
        return task is not None and not task.is_alive() and self.peer.ending is None

    def accessed(self, action: str, fields: Mapping[str, Field]) -> None:
        """Hear of a step, and of what it has loaded or stored."""
        self.last = action
        if action == "Writer.Count":
            self.counted = int(fields["value"])
        if action == "Writer.Advance":
            self._look_at_ring()
        if action in ("Writer.Advance", "Reader.Count"):
            self._rings_soon = True
        elif action == "Ringer.Wake" or (action == "Ringer.Look" and not fields["value"]):
            self._rings_soon = False

    def copied(self, record: bytearray) -> None:
        """Hear of a record that was copied out of the ring."""
        self.taken.append(parts_of(record))
        count = len(self.taken)
        if self.taken[-1] != (count, count):
            self.complaints.append(f"record {count} was taken as head and tail of {self.taken[-1]}")
        if count > self._memory.written:
            self.complaints.append(f"{count} records were taken, of {self._memory.written} written")

    def timed_out(self) -> None:
        """Hear of a sleep that nothing but its bound has ended."""
        if self._is_served() and not self.peer._rings_soon and not self.peer_is_dead():
            self.complaints.append(f"the {self.name} overslept: what it waited for was there, and nobody rang")

    def ended(self, ending: str) -> None:
        """Hear how the side has ended."""
        self.ending = ending
        left = self._memory.published - self._taken
        if ending == TOLD and not self.peer_is_dead():
            self.complaints.append(f"the {self.name} was told of a death, and the other side lives")
        if left and (ending == CLOSED or (ending == TOLD and self._side is Side.READER)):
            self.complaints.append(f"the {self.name} ended, '{ending}', before {left} records that were published")

    @property
    def _taken(self) -> int:
        return len(self.taken if self._side is Side.READER else self.peer.taken)

    def _is_served(self) -> bool:
        """Tell whether what this side waits for is in memory."""
        memory = self._memory
        if self._side is Side.READER:
            return memory.published > self._taken
        return memory.taken == RECORDS if memory.published == RECORDS else memory.consumed == memory.published

    def _look_at_ring(self) -> None:
        """See whether what is published, and not given back, fits the ring, and is there."""
        published, consumed = self._memory.published, self._memory.consumed
        if published - consumed > 1:
            self.complaints.append(f"{published - consumed} records are published in a ring that holds one")
        if published > consumed and self._memory.body != (published, published):
            self.complaints.append(f"record {published} was published, and the ring holds {self._memory.body}")
