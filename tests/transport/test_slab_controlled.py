"""The slab under the testbed: writer and readers lend, publish, look, release and reuse in every order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from omni_ipc.errors import Full
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore, replay, shrink
from omni_ipc.transport import bell
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.lease import Lease, SlabReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.stock import Stock
from omni_ipc.transport.tensor import Place
from tests.support.slabs import Shop

FOR_EVER_S = 1e6
WAIT_S = 100.0


@pytest.fixture(autouse=True)
def _sleepers_depend_on_being_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the bound of a sleep, which would hide a lost wake-up."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", FOR_EVER_S)


class World:
    """A slab of one slot, whose first word is the picture in it."""

    def __init__(
        self, rt: Runtime, *, readers: int = 1, slab: type[Slab] = Slab, reader: type[SlabReader] = SlabReader
    ) -> None:
        self.shop = Shop([SlotClass(64, 1)], readers=readers, rt=rt, slab=slab, reader=reader)
        self.everybody = range(readers)
        self._canvas = rt.words(self.shop.memory)  # so that the testbed sees who looks at it while it changes
        self._pixel = self.shop.geometry.spans[0][0] // 8

    def paint(self, picture: int, timeout: float = 0) -> Place | None:
        """Fill the slot for every reader, if there is one."""
        try:
            loan = self.shop.slab.loan(64, timeout=timeout)
        except Full:
            return None
        self._canvas.store(self._pixel, picture)
        loan.hand_over(self.everybody)
        return Place(loan.slot, loan.generation, 0)

    def look(self, reader: int, place: Place, picture: int) -> Lease:
        """Lease what a record names, and see that it is the picture that was sent."""
        lease = self.shop.ends[reader].lease(place.slot, place.generation)
        assert self._canvas.load(self._pixel) == picture, "the picture changed under its reader"
        return lease

    def visit(self, reader: int, place: Place, picture: int) -> None:
        """Look at a picture, and let go; run as a task."""
        self.look(reader, place, picture).release()


def passed_on(pictures: int, *, timeout: float = 0, **parts: Any) -> Callable[[Runtime], int]:
    """Make the scenario in which one reader sees pictures that are painted into one slot, as long as one is free."""

    def scenario(rt: Runtime) -> int:
        world, way, began = World(rt, **parts), rt.queue(), rt.now()

        def write() -> None:
            for picture in range(pictures):
                place = world.paint(picture, timeout)
                way.put(place and (place, picture))
                if place is None:
                    return
            way.put(None)

        writer = rt.spawn(write, name="writer")
        seen = 0
        while sent := way.get():
            world.visit(0, *sent)
            seen += 1
        writer.join()
        assert rt.now() == began, "somebody slept until its time was over"
        assert world.shop.slab.held() == 0, "a slot was lost"
        return seen

    return scenario


def broadcast(slab: type[Slab] = Slab) -> Callable[[Runtime], bool]:
    """Make the scenario in which two readers look at one picture, and the writer tries to paint the next meanwhile."""

    def scenario(rt: Runtime) -> bool:
        world = World(rt, readers=2, slab=slab)
        place = world.paint(1)
        assert place is not None
        lease = world.look(0, place, 1)
        other = rt.spawn(world.visit, 1, place, 1, name="other reader")
        assert world.paint(2) is None, "the slot was lent again under a reader"
        lease.release()
        other.join()
        return world.paint(3) is not None

    return scenario


def released_twice(reader: type[SlabReader] = SlabReader) -> Callable[[Runtime], None]:
    """Make the scenario in which a collector comes, at any time later, to release what was released."""

    def scenario(rt: Runtime) -> None:
        world = World(rt, reader=reader)
        old = world.paint(1)
        assert old is not None
        lease = world.look(0, old, 1)
        lease.release()
        collector = rt.spawn(lease.release, name="collector")
        new = world.paint(2)
        assert new is not None
        world.visit(0, new, 2)
        collector.join()
        assert world.shop.slab.held() == 0, "a slot was lost"

    return scenario


def test_a_slot_is_reused_only_after_its_release_in_every_order() -> None:
    """Three pictures through one slot: each is seen whole, however many find the slot free."""
    report = explore(passed_on(3))
    assert (report.verdict, set(report.outcomes)) == (Verdict.HOLDS, {"1", "2", "3"})


def test_who_waits_for_a_slot_is_woken_by_its_release_in_every_order() -> None:
    """No wake-up is lost: time never passes."""
    report = explore(passed_on(2, timeout=WAIT_S))
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("2",))


def test_who_waits_for_a_slot_is_woken_by_an_abort_in_every_order() -> None:
    """A producer that gives up lets the next one go on at once."""

    def scenario(rt: Runtime) -> None:
        world, began = World(rt), rt.now()
        kept = world.shop.slab.loan(64, timeout=0)
        waiter = rt.spawn(world.paint, 1, WAIT_S, name="waiter")
        kept.abort()
        waiter.join()
        assert rt.now() == began, "somebody slept until its time was over"

    assert explore(scenario).verdict is Verdict.HOLDS


def test_two_producers_never_get_one_slot_in_any_order() -> None:
    """Both see that it was released, and one of them gets it."""

    def scenario(rt: Runtime) -> int:
        world = World(rt)
        old = world.paint(1)
        assert old is not None
        world.visit(0, old, 1)
        got: list[Place | None] = []
        tasks = [rt.spawn(lambda: got.append(world.paint(2)), name=f"producer {number}") for number in range(2)]
        for task in tasks:
            task.join()
        return sum(place is not None for place in got)

    report = explore(scenario)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("1",))


def test_a_broadcast_slot_waits_for_both_readers_in_every_order() -> None:
    """There is no counter to get wrong: each reader's word is asked."""
    report = explore(broadcast())
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("True",))


def test_a_late_second_release_takes_nothing_away_in_every_order() -> None:
    """The user's release and the collector's are one."""
    assert explore(released_twice()).verdict is Verdict.HOLDS


class OldGeneration(Stock):
    """Lends a slot again under its old generation, so that an old release counts for the new lease."""

    def next_generation(self, slot: int) -> int:
        self._generations[slot] = 1
        return 1


class EitherReader(Stock):
    """Takes a slot back as soon as one of its readers has released it."""

    def _is_released(self, slot: int, readers: Sequence[int]) -> bool:
        return any(super(EitherReader, self)._is_released(slot, (reader,)) for reader in readers)


def stocked(kind: type[Stock]) -> type[Slab]:
    """Make the slab that keeps its slots so."""

    class Stocked(Slab):
        def _stocked(self, poison: Callable[[int], None] | None) -> Stock:
            return kind(self.geometry, self._words, poison=poison)

    return Stocked


class ReleasesAgain(SlabReader):
    """Leases that tell the writer each time that they are released."""

    def lease(self, slot: int, generation: int) -> Lease:
        lease = super().lease(slot, generation)
        lease._armed = _Always(lease._armed)
        return lease


class _Always(list[object]):
    """Lets an end come again and again."""

    def pop(self, *_: object) -> object:
        return self[0]


def broken(scenario: Callable[[Runtime], object]) -> str:
    """Explore, replay and shrink what was found, and tell it."""
    report = explore(scenario)
    assert report.verdict is Verdict.VIOLATED
    assert report.failure is not None
    assert report.trace is not None
    again = replay(scenario, report.trace)
    assert again.failure is not None
    assert again.failure.message == report.failure.message
    shortest = shrink(scenario, report.trace)
    assert len(shortest.steps) <= len(report.trace.steps)
    assert replay(scenario, shortest).failure == again.failure
    return report.failure.message


def test_a_reused_generation_is_found() -> None:
    """An old release then counts for the new lease, and the third picture comes over the second."""
    assert "the picture changed under its reader" in broken(passed_on(3, slab=stocked(OldGeneration)))


def test_a_slot_reused_before_both_readers_released_it_is_found() -> None:
    """The writer paints over the picture that one reader still looks at."""
    assert "lent again under a reader" in broken(broadcast(stocked(EitherReader)))


def test_a_double_release_is_found() -> None:
    """The late one takes back the release of the slot's next lease, and the slot is lost."""
    assert "a slot was lost" in broken(released_twice(ReleasesAgain))
