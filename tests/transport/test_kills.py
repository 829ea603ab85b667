"""SIGKILL at random moments: of writers, of readers, of whole trees. Nothing hangs, nothing is left, all is told.

Ten at a time, so that what a start and a look take is shared. The seed is printed; OMNI_IPC_SEED gives the same moments
again, though not the same machine.
"""

from __future__ import annotations

import functools
import os
import random
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from omni_ipc.errors import Full, PeerDied, Timeout
from omni_ipc.seam.api import Future
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.layout import READ_POSITION, WRITE_POSITION, Side
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.rendezvous import Server
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT, Inbound, inbound, outbound
from tests.support.roles import body_of
from tests.support.waiting import until
from tests.support.zygote import Child, Zygote

AT_ONCE = 10
LATEST_S = 0.02
TOLD_WITHIN_S = 1.0

ROUNDS = [pytest.param(10, id="100"), pytest.param(100, id="1000", marks=[pytest.mark.soak, pytest.mark.timeout(900)])]


@pytest.fixture
def moments() -> random.Random:
    seed = int(os.environ.get("OMNI_IPC_SEED") or time.time_ns())
    print(f"OMNI_IPC_SEED={seed}")
    return random.Random(seed)


class Kills:
    """Children that are killed, with all that they forked, each at a random moment once all have attached."""

    def __init__(self, children: Sequence[Child], lanes: Iterable[Lane], side: Side, moments: random.Random) -> None:
        for lane in lanes:
            until(functools.partial(_has_attached, lane, side))
        now = time.monotonic()
        self.moments: dict[int, float] = {}  # when each was killed
        self._children = children
        self._due = sorted(((now + moments.uniform(0, LATEST_S), n) for n in range(len(children))), reverse=True)

    def go_on(self) -> bool:
        """Kill those whose moment has come, and tell whether others are left."""
        while self._due and self._due[-1][0] <= time.monotonic():
            _, number = self._due.pop()
            self.moments[number] = time.monotonic()
            self._children[number].kill_group()
        return bool(self._due)


def drain(link: Inbound, kills: Kills) -> None:
    """Check all that comes, killing meanwhile, until the death of every lane's writer was told."""
    expected = dict.fromkeys(link.lanes, 0)
    while expected:
        kills.go_on()
        try:
            lane, message = link.port.receive(0.002)
        except Timeout:
            continue
        except PeerDied as error:
            last = error.last_sequence
        else:
            assert bytes(message.body) == body_of(expected[lane])
            expected[lane] += 1
            continue
        (lane,) = expected.keys() - set(link.port.lanes)
        assert time.monotonic() - kills.moments[int(lane)] < TOLD_WITHIN_S
        words, taken = link.lanes[lane].words, link.lanes[lane].counts().taken
        assert (words.load(READ_POSITION), last) == (words.load(WRITE_POSITION), taken - 1 if taken else None)
        del expected[lane]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_killed_writers_lose_nothing_that_they_published(children: Zygote, moments: random.Random, rounds: int) -> None:
    """Each one's messages arrive in order and whole up to its last record; then its death is told, within 1 s."""
    for _ in range(rounds):
        with ExitStack() as stack:
            link = stack.enter_context(inbound(*map(str, range(AT_ONCE))))
            writers = [stack.enter_context(children.fork("write_for_ever", *fds)) for fds in link.fds.values()]
            drain(link, Kills(writers, link.lanes.values(), Side.WRITER, moments))


def write_until_told(writer: LaneWriter, told: Future[tuple[float, PeerDied]]) -> None:
    """Send numbered messages until the reader's death is told."""
    number = 0
    try:
        while True:
            writer.send(body_of(number), timeout=30)
            number += 1
    except PeerDied as error:
        told.set_result((time.monotonic(), error))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_killed_readers_are_told_to_writers_that_wait(children: Zygote, moments: random.Random, rounds: int) -> None:
    """Each writer learns within 1 s which record its reader did not take, and which process that was."""
    for _ in range(rounds):
        with ExitStack() as stack:
            writers = []
            readers = []
            for _ in range(AT_ONCE):
                link = stack.enter_context(outbound())
                writers.append(link.writer)
                readers.append(stack.enter_context(children.fork("read_for_ever", *link.fds)))
            endings = [RT.future() for _ in writers]
            tasks = [
                RT.spawn(write_until_told, *each, name=f"to {number}")
                for number, each in enumerate(zip(writers, endings, strict=True))
            ]
            kills = Kills(readers, [writer.lane for writer in writers], Side.READER, moments)
            while kills.go_on():
                time.sleep(0.001)
            for number, (writer, ending) in enumerate(zip(writers, endings, strict=True)):
                moment, error = ending.result(30)
                assert moment - kills.moments[number] < TOLD_WITHIN_S
                assert error.first_unread == writer.lane.counts().taken
                assert f"process {readers[number].pid}, died before it took record {error.first_unread}" in str(error)
            for task in tasks:
                task.join(30)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_killed_trees_leave_nothing(children: Zygote, moments: random.Random, rounds: int, tmp_path: Path) -> None:
    """A server with its socket and a lane inside, and a writer to here: no process stays, and the next start sweeps.

    What they wrote to here arrives, as if their writer alone had died; that /dev/shm is as before, each test asserts.
    """
    for _ in range(rounds):
        with ExitStack() as stack:
            link = stack.enter_context(inbound(*map(str, range(AT_ONCE))))
            trees = [
                stack.enter_context(children.fork("tree", *fds, directory=str(tmp_path), name=f"tree-{name}"))
                for name, fds in link.fds.items()
            ]
            drain(link, Kills(trees, link.lanes.values(), Side.WRITER, moments))
            for tree in trees:
                until(functools.partial(_is_gone, tree.pid), seconds=TOLD_WITHIN_S)
        with Server(rt=RT, name="next", directory=tmp_path):
            assert [path.name.partition(".")[0] for path in tmp_path.iterdir()] == ["next"]
    assert not list(tmp_path.iterdir())


def _has_attached(lane: Lane, side: Side) -> bool:
    return lane.signature(side) is not None


def _is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_slots_of_a_killed_reader_come_back_to_a_loan_that_waits(children: Zygote) -> None:
    """Nobody tells the slab: it looks whether its readers live, and the loan gets the slot within 1 s."""
    geometry = Geometry([SlotClass(64, 2)])
    with outbound() as link, Segment.create(geometry.nbytes, name="slab") as memory:
        geometry.lay(memory.view)
        slab = Slab(rt=RT, buffer=memory.view, name="slab")
        with children.fork("keep", *link.fds, memory.fd, count=2) as reader:
            for _ in range(2):
                slab.loan(64, timeout=0).commit(link.writer, timeout=0)
            until(lambda: link.writer.lane.counts().taken == 2)
            with pytest.raises(Full, match="readers hold 2"):
                slab.loan(64, timeout=0.2)
            killed = RT.spawn(reader.kill_group, name="killer")
            begun = time.monotonic()
            loan = slab.loan(64, timeout=30)
            assert time.monotonic() - begun < TOLD_WITHIN_S
            killed.join()
        assert (loan.generation, slab.held()) == (2, 0)
        del loan, slab
