"""A lane of which each access is a step, named after the action of the model Lane that it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omni_ipc.scenarios.lane_end import LaneEnd
from omni_ipc.scenarios.lane_memory import half_of
from omni_ipc.scenarios.stepped_words import Access, SteppedWords
from omni_ipc.seam.api import Runtime, Words
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.layout import (
    READ_POSITION,
    RECORDS_TAKEN,
    RECORDS_WRITTEN,
    WRITE_POSITION,
    WRITER_PARKED,
    Side,
    Signature,
)

__tracebackhide__ = True  # a step is at the line of the product that asked for the access

_NO_PROCESS = Signature(0, 0)


def writer() -> dict[Access, str]:
    """Name the accesses of who writes to a lane.

    Spec: WriterWrite
    Spec: WriterCount
    Spec: WriterAdvance
    """
    return {
        ("write",): "Writer.Write",
        ("store", RECORDS_WRITTEN): "Writer.Count",
        ("store", WRITE_POSITION): "Writer.Advance",
    }


def reader() -> dict[Access, str]:
    """Name the accesses of who reads from a lane.

    Spec: ReaderReview
    Spec: ReaderCount
    Spec: ReaderConsume
    """
    return {
        ("load", WRITE_POSITION): "Reader.Review",  # where it is no part of a look
        ("store", RECORDS_TAKEN): "Reader.Count",
        ("store", READ_POSITION): "Reader.Consume",
    }


def sleeper(flag: int) -> dict[Access, str]:
    """Name the accesses of who sleeps on a flag.

    Spec: SleeperPark
    Spec: SleeperUnpark
    Spec: SleeperSleep
    """
    return {("store", flag, 1): "Sleeper.Park", ("store", flag, 0): "Sleeper.Unpark", ("wait", flag): "Sleeper.Sleep"}


def ringer(flag: int) -> dict[Access, str]:
    """Name the accesses of who wakes that sleeper.

    Spec: RingerLook
    Spec: RingerLower
    Spec: RingerWake
    """
    return {("load", flag): "Ringer.Look", ("store", flag): "Ringer.Lower", ("wake", flag): "Ringer.Wake"}


def observed(rt: Runtime, words: Words, names: Mapping[Access, str], end: LaneEnd) -> SteppedWords:
    """View words as one side uses them.

    Args:
        names: of the accesses that are steps.
    """
    return SteppedWords(rt, words, names, end, of_bytes=half_of)


class ObservedBell(Bell):
    """A bell of which the sleeper's second look is a step.

    Args:
        kind: of the bell that does the work.
    """

    def __init__(self, rt: Runtime, words: Words, index: int, end: LaneEnd, kind: type[Bell]) -> None:
        super().__init__(rt, words, index)
        self._end = end
        self._bell = kind(rt, words, index)

    def ring(self) -> None:
        self._bell.ring()

    def sleep_unless(self, ready: Callable[[], bool], timeout: float) -> None:
        """Sleep as the bell does.

        Spec: SleeperLook
        """

        def look() -> bool:
            with self._rt.region("Sleeper.Look"):
                found = ready()
                self._end.accessed("Sleeper.Look", {})
                return found

        self._bell.sleep_unless(look, timeout)


class ObservedLane(Lane):
    """A lane as one side has opened it; whether the other one lives, its end knows.

    Args:
        bell: that wakes a writer who waits.
    """

    def __init__(
        self, *, rt: Runtime, buffer: memoryview, names: Mapping[Access, str], end: LaneEnd, bell: type[Bell]
    ) -> None:
        super().__init__(rt=rt, buffer=buffer, name="lane")
        self.words = observed(rt, self.words, names, end)
        self.room_bell = ObservedBell(rt, self.words, WRITER_PARKED, end, bell)
        self._end = end

    def read(self, position: int, nbytes: int) -> bytearray:
        """Copy a record out of the ring in one step.

        Spec: ReaderRead
        """
        with self.rt.region("Reader.Read"):
            data = super().read(position, nbytes)
            self._end.copied(data)
        return data

    def signature(self, side: Side) -> Signature | None:
        """Tell whose process to ask for; of the dead there is none. To the writer it is a part of Writer.Look.

        Spec: ReaderAsk
        """
        with self.rt.region("Reader.Ask"):
            return _NO_PROCESS if self._end.peer_is_dead() else super().signature(side)
