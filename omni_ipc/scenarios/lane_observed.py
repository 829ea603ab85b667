"""A lane of which each access is a step, named after the action of the model Lane that it is.

The product knows its accesses by words and offsets. Here each that the model speaks of lies in a region of its own, so
that others may come between any two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omni_ipc.scenarios.lane_end import LaneEnd
from omni_ipc.scenarios.lane_memory import half_of
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

Access = tuple[str | int, ...]
"""What is done, to which word, and with which value, if that matters: ("load", 48), ("store", 48, 1), ("write",)."""

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


class ObservedWords:
    """Words as one side uses them; it hears of each step, within it.

    Args:
        names: of the accesses that are steps.
    """

    def __init__(self, rt: Runtime, words: Words, names: Mapping[Access, str], end: LaneEnd) -> None:
        self._rt = rt
        self._words = words
        self._names = names
        self._end = end

    def load(self, index: int) -> int:
        name = self._names.get(("load", index))
        if name is None:
            return self._words.load(index)
        with self._rt.region(name):
            found = self._words.load(index)
            self._end.accessed(name, found)
        return found

    def store(self, index: int, value: int) -> None:
        name = self._names.get(("store", index, value), self._names.get(("store", index), ""))
        with self._rt.region(name, value=value):
            self._words.store(index, value)
            self._end.accessed(name, value)

    def read(self, offset: int, nbytes: int) -> bytearray:
        return self._words.read(offset, nbytes)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        with self._rt.region(self._names["write",], **half_of(offset, bytes(data))):
            self._words.write(offset, data)

    def fence(self) -> None:
        self._words.fence()

    def wait(self, index: int, value: int, timeout: float) -> bool:
        self._words.fence()  # as each system call is one; within a region it would not wait for the stores
        with self._rt.region(self._names["wait", index]):
            in_time = self._words.wait(index, value, timeout)
            if not in_time:
                self._end.timed_out()
        return in_time

    def wake(self, index: int) -> None:
        self._words.fence()
        with self._rt.region(name := self._names["wake", index]):
            self._words.wake(index)
            self._end.accessed(name)


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
                self._end.accessed("Sleeper.Look")
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
        self.words = ObservedWords(rt, self.words, names, end)
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
