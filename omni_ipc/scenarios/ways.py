"""The ways of a large message as the model Overflow sees them: which record of which message lies where."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Delivery, Receiver, Sender
from omni_ipc.serving.messages import OutputReady, Reply
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES, RECORD, RECORD_BYTES, padded
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

if TYPE_CHECKING:
    from omni_ipc.scenarios.world import PendingStep  # which needs the parts, and these need the ways

NAME_CHARACTERS = 150  # so that the record of a message is about as large as that of an array
RING_BYTES = 1024  # four records of the scenario, and never five: each takes 208 to 256 bytes


Records = tuple[Mapping[str, int], ...]


class Seen(NamedTuple):
    """What there is to be seen of a way, in the model's words."""

    published: int  # records of the message that is being sent
    ways: Mapping[str, Records]
    seen: int
    half: Records


class Way(Protocol):
    """From one writer to one reader, neither of whom ever waits."""

    @property
    def sender(self) -> Sender[Reply]: ...
    @property
    def receiver(self) -> Receiver[Reply]: ...

    def join(self) -> None:
        """Attach the reader."""

    def begin(self) -> None:
        """Note that the next message is sent from here on."""

    def look(self, pending: PendingStep, ended: int) -> Seen:
        """Tell what lies where, when so many messages have been sent, or refused."""

    def origin(self, delivery: Delivery[Reply]) -> Records:
        """Name the records that the message received last was put together from."""


class LaneWay:
    """The product's: a lane, whose reader comes late."""

    def __init__(self, rt: Runtime) -> None:
        doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        self._lane = Lane.create(rt=rt, buffer=memoryview(bytearray(lane_bytes(RING_BYTES))), name="results")
        self._port = Port(rt=rt, lanes=(), doorbell=doorbell)
        self._reader: LaneReader | None = None
        self._starts: list[int] = []  # message -> the sequence of its first record
        self.sender: Sender[Reply] = LaneSender(LaneWriter(self._lane, doorbell=doorbell), timeout=0)
        self.receiver: Receiver[Reply] = PortReceiver(self._port, Reply)

    def join(self) -> None:
        self._reader = LaneReader(self._lane)
        self._port.add(self._reader)

    def begin(self) -> None:
        self._starts.append(self._lane.counts().written)

    def look(self, pending: PendingStep, ended: int) -> Seen:
        written, taken = self._lane.counts()
        return Seen(
            published=written - self._starts[-1] if len(self._starts) > ended else 0,
            ways={"lane": self._records(taken, written), "socket": ()},
            seen=self._seen(),
            half=self._records(self._begin_of(taken - 1), taken) if self._holds_half() else (),
        )

    def origin(self, delivery: Delivery[Reply]) -> Records:
        taken = self._lane.counts().taken
        return self._records(self._begin_of(taken - 1), taken)

    def _begin_of(self, sequence: int) -> int:
        """Give the sequence of the first record of the message that a record belongs to."""
        return self._starts[self._message_of(sequence) - 1]

    def _message_of(self, sequence: int) -> int:
        return bisect.bisect_right(self._starts, sequence)

    def _records(self, begin: int, end: int) -> Records:
        return tuple(record(self._message_of(at), at - self._begin_of(at) + 1) for at in range(begin, end))

    def _holds_half(self) -> bool:
        return self._reader is not None and self._reader._assembly._begun

    def _seen(self) -> int:
        """Count the records that the reader has seen and not taken."""
        if self._reader is None:
            return 0
        position, count = self._reader._position, 0
        while position < self._reader._seen:
            length, *_ = RECORD.unpack(self._lane.read(position, RECORD_BYTES))
            position += padded(RECORD_BYTES + length)
            count += 1
        return count


def record(message: int, index: int) -> Mapping[str, int]:
    """Name a piece of a message; both are counted from 1."""
    return {"message": message, "index": index}


def name_of(number: int) -> str:
    """Name the output whose message has a number."""
    return str(number).rjust(NAME_CHARACTERS, "0")


def number_of(message: Reply) -> int:
    """Give the number of a message."""
    assert isinstance(message, OutputReady)
    return int(message.output)
