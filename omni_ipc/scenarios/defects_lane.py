"""What a lane could do wrong, one method each; nobody has met it in the field, and the model Lane says why."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence

from omni_ipc.errors import PeerDied
from omni_ipc.transport import liveness
from omni_ipc.transport.bell import LONGEST_SLEEP_S, Bell
from omni_ipc.transport.framing import Data
from omni_ipc.transport.lane import Counts
from omni_ipc.transport.layout import ALIGNMENT, RECORDS_WRITTEN, WRITE_POSITION, Side
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter


class PublishBeforeBody(LaneWriter):
    """Moves the write position first, and writes what lies before it afterwards."""

    def _publish(self, position: int, pieces: Sequence[Data], written: int) -> None:
        with self._rt.region("Writer.Publish", lane=self.name, position=position):
            end = position + sum(map(len, pieces))
            self._words.store(RECORDS_WRITTEN, written)
            self._words.store(WRITE_POSITION, (end + ALIGNMENT - 1) & -ALIGNMENT)
            for piece in pieces:
                position = self.lane.write(position, piece)
            if self._doorbell is not None:
                self._doorbell.ring()


class PositionBeforeCount(LaneWriter):
    """Publishes records before it counts them, so that more are taken than were written."""

    def _publish(self, position: int, pieces: Sequence[Data], written: int) -> None:
        with self._rt.region("Writer.Publish", lane=self.name, position=position):
            for piece in pieces:
                position = self.lane.write(position, piece)
            self._words.store(WRITE_POSITION, (position + ALIGNMENT - 1) & -ALIGNMENT)
            self._words.store(RECORDS_WRITTEN, written)
            if self._doorbell is not None:
                self._doorbell.ring()


class MissingReleaseFence(LaneWriter):
    """Stores count and position as it stores bytes, and so in no order: the position may be seen before its record."""

    def _publish(self, position: int, pieces: Sequence[Data], written: int) -> None:
        with self._rt.region("Writer.Publish", lane=self.name, position=position):
            for piece in pieces:
                position = self.lane.write(position, piece)
            end = (position + ALIGNMENT - 1) & -ALIGNMENT
            for index, value in ((RECORDS_WRITTEN, written), (WRITE_POSITION, end)):
                self._words.write(index * 8, value.to_bytes(8, sys.byteorder))
            if self._doorbell is not None:
                self._doorbell.ring()


class NoRoomAskedFor(LaneWriter):
    """Claims the next place whether the reader has given it back or not."""

    def _claim(self, nbytes: int, timeout: float) -> tuple[int, int]:
        with self._rt.region("Writer.Claim", lane=self.name):
            self._free_until = self._words.load(WRITE_POSITION) + self.lane.room()
            return self._words.load(WRITE_POSITION), self._words.load(RECORDS_WRITTEN)


class ClosedAtOnce(LaneWriter):
    """Takes any answer of the reader for the one that it has taken everything."""

    def await_taken(self, timeout: float) -> Counts:
        self._patience.until(lambda: bool(self.lane.counts()), self._rt.now() + timeout)
        return self.lane.counts()


class DeathBeforeDrain(LaneReader):
    """Gives up as soon as the writer is dead, whatever that has published since the last look."""

    def look_at_writer(self) -> None:
        writer = self.lane.signature(Side.WRITER)
        if self._end is None and writer is not None and (how := liveness.ending(writer)) is not None:
            who = f"The writer of lane '{self.name}', process {writer.pid},"
            self._end = functools.partial(PeerDied, who, how, self._sequence - 1 if self._sequence else None)


class LostWakeup(Bell):
    """Looks first, and says only afterwards that it sleeps: who rings in between sees nobody."""

    def _park(self, ready: Callable[[], bool]) -> bool:
        with self._rt.region("Bell.Park"):
            if seen := ready():
                return seen
            self._words.store(self._index, 1)
            self._words.fence()
            return False


class SleepsOn(Bell):
    """Takes the end of its bound for a spurious wake-up, and sleeps on until it is rung: the dead ring nobody."""

    def sleep_unless(self, ready: Callable[[], bool], timeout: float) -> None:
        if self._park(ready):
            self._words.store(self._index, 0)
            return
        while not self._words.wait(self._index, 1, min(timeout, LONGEST_SLEEP_S)):
            pass


class MissingWriterFence(Bell):
    """Looks at the flag before all see what it rings for."""

    def ring(self) -> None:
        if self._words.load(self._index):
            self._words.store(self._index, 0)
            self._words.wake(self._index)


class MissingReaderFence(Bell):
    """Looks again before all see that it is about to sleep."""

    def _park(self, ready: Callable[[], bool]) -> bool:
        with self._rt.region("Bell.Park"):
            self._words.store(self._index, 1)
            return ready()
