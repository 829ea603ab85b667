"""The transport's lane while its writer is killed at each step: what was published arrives whole, then the death."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from omni_ipc.errors import OmniError, PeerClosed, PeerDied
from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.testbed.faults import Kill
from omni_ipc.transport import liveness
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import (
    DOORBELL_BYTES,
    READ_POSITION,
    WRITE_POSITION,
    Side,
    Signature,
)
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.testbed.kernels import found

BODIES = (b"a" * 24, b"b" * 40)


class Processes:
    """Stands in for the system's: tells who signs, and who has ended, in a controlled world."""

    def __init__(self, rt: ControlledRuntime) -> None:
        self.rt = rt
        self.writer = rt.process("writer")
        self._writer = Signature(2, 2)

    def this(self) -> Signature:
        return Signature(1, 1) if self.rt.this_process() is None else self._writer

    def ending(self, process: Signature) -> str | None:
        return self.writer.ending() if process == self._writer else None


class TellsTheDeathAtOnce(LaneReader):
    """A reader that does not look once more, after the death, for what was published before it."""

    def ready(self) -> bool:
        return self._end is not None or super().ready()

    def look_at_writer(self) -> None:
        writer = self.lane.signature(Side.WRITER)
        if self._end is None and writer is not None and (how := liveness.ending(writer)) is not None:
            self._end = functools.partial(PeerDied, "The writer", how, self._sequence - 1 if self._sequence else None)


def scenario(
    writer_kind: type[LaneWriter] = LaneWriter,
    reader_kind: type[LaneReader] = LaneReader,
    *,
    bodies: tuple[bytes, ...] = BODIES,
) -> Callable[[ControlledRuntime], tuple[int, str]]:
    """Make the world: a process writes messages and closes its lane; the scenario reads until the end."""

    def run(rt: ControlledRuntime) -> tuple[int, str]:
        processes = Processes(rt)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("omni_ipc.transport.lane.this_process", processes.this)
            patch.setattr(liveness, "ending", processes.ending)
            world = World(rt, processes, reader_kind)
            processes.writer.spawn(world.write, writer_kind, bodies, name="writer.main")
            return world.read(bodies)

    return run


class World:
    """A lane, and the port at its reading end."""

    def __init__(self, rt: ControlledRuntime, processes: Processes, reader_kind: type[LaneReader]) -> None:
        self._processes = processes
        self._done = rt.event()
        self._lane = Lane.create(rt=rt, buffer=memoryview(bytearray(lane_bytes(256))), name="out")
        self._doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        self._port = Port(rt=rt, lanes=[reader_kind(self._lane)], doorbell=self._doorbell)

    def write(self, kind: type[LaneWriter], bodies: tuple[bytes, ...]) -> None:
        """Send all and close, and live on until all was read; run as a task of the writing process."""
        writer = kind(self._lane, doorbell=self._doorbell)
        for body in bodies:
            writer.send(body, timeout=10)
        writer.close(timeout=10)
        self._done.wait()

    def read(self, bodies: tuple[bytes, ...]) -> tuple[int, str]:
        """Read to the end, and hold what came against what was sent."""
        received: list[bytes] = []
        ending: OmniError | None = None
        while ending is None:
            try:
                received.append(bytes(self._port.receive(20)[1].body))
            except (PeerClosed, PeerDied) as error:
                ending = error
        self._done.set()
        assert received == list(bodies[: len(received)]), "torn, or out of order"
        assert self._lane.words.load(READ_POSITION) == self._lane.words.load(WRITE_POSITION), "something was left"
        if isinstance(ending, PeerDied):
            assert ending.last_sequence == (len(received) - 1 if received else None)
            assert self._processes.writer.ending() == "killed by SIGKILL"
        else:
            assert len(received) == len(bodies)
        return len(received), type(ending).__name__


def test_what_a_killed_writer_had_published_arrives_and_then_its_death() -> None:
    """Whatever region the kill comes before, a prefix of the messages arrives, and PeerDied behind it."""
    report = explore(scenario(), faults=[Kill("writer")], declared=True, strategy="dpor")
    assert report.verdict is Verdict.HOLDS, report.reason
    died = {f"({count}, 'PeerDied')" for count in range(3)}
    assert set(report.outcomes) == {"(2, 'PeerClosed')"} | died
    assert "with kill:writer" in report.reason


def test_no_access_of_a_publish_is_the_one_that_a_writer_must_not_die_before() -> None:
    """Between any two accesses of a publish, and in the middle of its copy, a kill leaves nothing torn."""
    options = {"faults": [Kill("writer")], "transparent": ("Writer.Publish",), "declared": True}
    report = explore(scenario(bodies=BODIES[:1]), strategy="dpor", **options)  # type: ignore[arg-type]
    assert report.verdict is Verdict.HOLDS, report.reason
    assert set(report.outcomes) == {"(0, 'PeerDied')", "(1, 'PeerDied')", "(1, 'PeerClosed')"}


def test_a_death_that_is_told_before_the_last_message_is_found() -> None:
    """Only a kill shows it: without one, the same reader loses nothing in the same number of runs."""
    world = scenario(reader_kind=TellsTheDeathAtOnce)
    report = found(world, faults=[Kill("writer")], declared=True)
    assert report.failure is not None
    assert "something was left" in report.failure.message
    assert report.trace is not None
    assert any(step.action == "fault.kill(writer)" for step in report.trace.steps)
    assert explore(world, declared=True, strategy="dpor").verdict is Verdict.HOLDS
