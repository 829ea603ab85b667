"""A writer and a reader at the ends of a lane, at the grain of the model Lane: each access to shared memory is a step.

writer ── claim, write, count, advance, ring ──► ring of one place ──► look, read, count, consume, ring ── reader

Each of the two stands for a process, and may be killed before each of its steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from omni_ipc.errors import LaneBroken, PeerClosed, PeerDied, UsageError
from omni_ipc.records import Field
from omni_ipc.scenarios.lane_end import BROKEN, CLOSED, DEAD, TOLD, LaneEnd
from omni_ipc.scenarios.lane_memory import RING_BYTES, LaneMemory, number_at, room_until
from omni_ipc.scenarios.lane_observed import ObservedBell, ObservedLane, observed, reader, ringer, sleeper, writer
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.stepped_words import Access
from omni_ipc.scenarios.world import END, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.layout import READER_PARKED, WRITER_PARKED, Side
from omni_ipc.transport.port import Port

STEPS = frozenset(
    {
        *(("writer", f"Writer.{verb}") for verb in ("Claim", "Look", "Write", "Count", "Advance")),
        *(("reader", f"Reader.{verb}") for verb in ("Look", "Ask", "Review", "Read", "Count", "Consume")),
        *((side, f"Ringer.{verb}") for side in ("writer", "reader") for verb in ("Look", "Lower", "Wake")),
        *((side, f"Sleeper.{verb}") for side in ("writer", "reader") for verb in ("Park", "Look", "Unpark", "Sleep")),
    }
)

Step = tuple[str, Mapping[str, Field]] | None
"""What a side will do next."""

_BEHIND = {
    **dict.fromkeys(("Writer.Advance", "Reader.Consume"), "ring"),
    "Ringer.Lower": "wake",
    "Sleeper.Park": "look again",
    "Sleeper.Look": "sleep",
}
"""Where a side stands that waits for its stores, by its last access."""

_STANDS = {"Ringer.Look": "ring", "Sleeper.Look": "look again", "words.woken": "asleep"}


class LaneWorld:
    """Closes a lane whose ring is full; each access is judged, and each sleep that nothing but its bound has ended."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        if launch is not None:
            raise UsageError("Both sides of this lane are tasks under control. Replay it there: --on controlled.")
        self._rt = rt
        self._parts = parts
        with rt.region("Lane.Attach"):
            self._memory = LaneMemory(rt)
            self._ends = {side: LaneEnd(self._memory, side) for side in Side}
            for one, other in (Side, reversed(Side)):
                self._ends[one].peer = self._ends[other]
            self._writer = parts.writer(
                self._open(Side.WRITER, writer() | sleeper(WRITER_PARKED)),
                doorbell=self._doorbell(Side.WRITER, ringer(READER_PARKED)),
            )
            self._writer.batch_bytes = RING_BYTES  # the ring has one place
            self._reader = parts.reader(self._open(Side.READER, reader() | ringer(WRITER_PARKED)))
            self._port = Port(rt=rt, lanes=[self._reader], doorbell=self._doorbell(Side.READER, sleeper(READER_PARKED)))

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How each side ended; DEAD of one that was killed.

        Raises:
            OutputsLost: something was wrong on the way.
        """
        with self._rt.region("Lane.Start"):
            for side, play in ((Side.WRITER, self._write), (Side.READER, self._read)):
                end = self._ends[side]
                end.task = self._rt.spawn(self._play, end, play, name=end.name)
        for end in reversed(self._ends.values()):
            assert end.task is not None
            end.task.join()
            if end.ending == BROKEN:
                break  # the writer would wait for room for ever
        with self._rt.region(END):
            pass
        if complaints := [complaint for end in self._ends.values() for complaint in end.complaints]:
            raise OutputsLost("\n".join(complaints))
        return tuple((end.name, end.ending or DEAD) for end in self._ends.values())

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of Lane."""
        at = {end.name: _stand(end, pending(end.name)) for end in self._ends.values()}
        looks = {"writer": self._writer._patience._looks, "reader": self._port._looks}
        return {
            "memory": self._memory.cells(),
            "at": at,
            "taken": self._ends[Side.READER].taken,
            "due": {name: at[name] != DEAD and looks[name]._next <= self._rt.now() for name in at},
            **self._known_to_writer(at["writer"], pending("writer")),
            "seen": 0 if at["reader"] == DEAD else number_at(self._reader._seen),
        }

    def _known_to_writer(self, at: str, step: Step) -> Mapping[str, object]:
        if at == DEAD:
            return {"claim": 0, "free": 0, "learnt": False}
        return {
            "claim": self._claim(step),
            "free": room_until(self._writer._free_until),
            "learnt": self._writer._patience._end is not None,
        }

    def _claim(self, step: Step) -> int:
        """Tell which record the writer is about to write, count or publish, or wrote last."""
        match step:
            case ("Writer.Write", {"record": int(number)}) | ("Writer.Count", {"value": int(number)}):
                return number
            case ("Writer.Advance", {"value": int(position)}):
                return number_at(position)
        return self._ends[Side.WRITER].counted

    def _open(self, side: Side, names: Mapping[Access, str]) -> ObservedLane:
        return ObservedLane(
            rt=self._rt, buffer=self._memory.lane, names=names, end=self._ends[side], bell=self._parts.bell
        )

    def _doorbell(self, side: Side, names: Mapping[Access, str]) -> ObservedBell:
        words = observed(self._rt, self._rt.words(self._memory.doorbell), names, self._ends[side])
        return ObservedBell(self._rt, words, READER_PARKED, self._ends[side], self._parts.bell)

    def _write(self) -> None:
        self._writer.close(math.inf)
        self._writer.join(math.inf)

    def _read(self) -> None:
        while True:
            self._port.receive(math.inf)

    def _play(self, end: LaneEnd, play: Callable[[], None]) -> None:
        ending = CLOSED
        try:
            play()
        except PeerClosed:
            pass  # the reader's good end
        except PeerDied:
            ending = TOLD
        except LaneBroken:
            ending = BROKEN
        end.ended(ending)


def _stand(end: LaneEnd, step: Step) -> str:
    """Say what a side does next, or how it ended, in the model's words."""
    if end.ending or step is None:
        return end.ending or DEAD
    action, fields = step
    if action == "words.fence":
        return _BEHIND[end.last]
    return _STANDS.get(action) or str(fields.get("half", action.partition(".")[2].lower()))
