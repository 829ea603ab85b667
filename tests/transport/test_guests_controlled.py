"""A slot that is handed on, under the testbed: whoever dies when, nobody's picture changes, and no slot is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from omni_ipc.errors import FormatError, Full
from omni_ipc.records import MemoryOrder, Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore, replay, shrink
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.guests import GuestBook, GuestReader
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.stock import Stock
from omni_ipc.transport.tensor import Place
from tests.support.slabs import Shop

WORDS = ("Slab.Loan", "Lease.Release")
"""Regions in which every access to a shared word is a step: the other process is not kept out by a lock."""


class Guest(GuestReader):
    """Leaves its place as it is: the collector, which may come at any time, would take a step of the run."""

    def __del__(self) -> None:
        return


class World:
    """A slab of one slot, whose first word is the picture in it; one reader, and one guest."""

    def __init__(self, rt: Runtime, *, slab: type[Slab] = Slab, guest: type[GuestReader] = Guest) -> None:
        self.shop = Shop([SlotClass(64, 1)], guests=1, rt=rt, slab=slab)
        self.guest = guest(rt=rt, buffer=self.shop.memory, name="slab", reader=1)
        self._canvas = rt.words(self.shop.memory)
        self._pixel = self.shop.geometry.spans[0][0] // 8

    def paint(self, picture: int) -> Place | None:
        """Fill the slot for the reader, if it is free."""
        try:
            loan = self.shop.slab.loan(64, timeout=0)
        except Full:
            return None
        self._canvas.store(self._pixel, picture)
        loan.hand_over((0,))
        return Place(loan.slot, loan.generation, 0)

    @contextmanager
    def looking(self, end: SlabReader, place: Place, picture: int) -> Iterator[None]:
        """Lease what a record names, see that it is the picture that was sent, and that it stays so."""
        lease = end.lease(place.slot, place.generation)
        try:
            assert self._canvas.load(self._pixel) == picture, "the picture changed under its holder"
            yield
            assert self._canvas.load(self._pixel) == picture, "the picture changed under its holder"
            lease.release()
        except BaseException:
            lease.never()  # the run was cut short, and who collects the lease then must do no step of it
            raise


def handed_on(*, crash: bool, **parts: type) -> Callable[[Runtime], bool]:
    """Make the scenario in which a reader hands a slot on, and the writer wants it back all the time.

    Args:
        crash: the reader lets go without waiting for the guest, as its death would.
        parts: of the world.
    """

    def scenario(rt: Runtime) -> bool:
        world, way, taken = World(rt, **parts), rt.queue(), rt.event()
        place = world.paint(1)
        assert place is not None
        saw: list[bool] = []

        def visit() -> None:
            try:
                with world.looking(world.guest, way.get(), 1):
                    taken.set()
                saw.append(True)
            except FormatError:
                saw.append(False)

        def hand_on() -> None:
            with world.looking(world.shop.ends[0], place, 1):
                way.put(place)
                if not crash:
                    taken.wait()

        tasks = [rt.spawn(visit, name="guest"), rt.spawn(hand_on, name="reader")]
        if again := world.paint(2):
            with world.looking(world.shop.ends[0], again, 2):
                pass
        for task in tasks:
            task.join()
        assert world.shop.slab.held() == 0, "a slot was lost"
        return saw[0]

    return scenario


def broken(scenario: Callable[[Runtime], object]) -> str:
    """Explore, replay and shrink what was found, and tell it."""
    report = explore(scenario, declared=True, transparent=WORDS)
    assert report.verdict is Verdict.VIOLATED
    assert report.failure is not None
    assert report.trace is not None
    shortest = shrink(scenario, report.trace, transparent=WORDS)
    again = replay(scenario, shortest, transparent=WORDS)
    assert again.failure is not None
    assert again.failure.message == report.failure.message
    return report.failure.message


def test_a_guest_that_was_waited_for_sees_the_picture_in_every_order() -> None:
    """The writer wants the slot back at any step, and gets it only when both have let go."""
    report = explore(handed_on(crash=False), declared=True, transparent=WORDS)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("True",)), report.reason


def test_a_guest_whose_reader_died_sees_the_picture_or_is_told_that_it_is_gone() -> None:
    """In no order does it look at anything else."""
    report = explore(handed_on(crash=True), declared=True, transparent=WORDS)
    assert (report.verdict, set(report.outcomes)) == (Verdict.HOLDS, {"True", "False"}), report.reason


@pytest.mark.parametrize(("crash", "memory"), [(True, MemoryOrder.TSO), (False, MemoryOrder.WEAK)])
def test_it_holds_where_stores_are_seen_late(crash: bool, memory: MemoryOrder) -> None:
    """Hold and retirement each have their fence."""
    report = explore(handed_on(crash=crash), memory=memory, declared=True, transparent=WORDS)
    assert report.verdict is Verdict.HOLDS, report.reason


class NeverRetires(GuestBook):
    """Looks whether a guest holds the slot, and leaves the generation for a guest to find."""

    def keep(self, slot: int, generation: int) -> bool:
        return self._is_held(slot, generation)


class NoFence(Guest):
    """Says that it holds the slot, and looks at the generation before that can be seen."""

    def _hold(self, slot: int, generation: int) -> None:
        self.words.store(self.geometry.release_word(slot, self.reader), generation)
        self._check_generation(slot, generation)
        self._counts[slot] = self._counts.get(slot, 0) + 1


class HoldsLate(Guest):
    """Looks at the generation first, and says that it holds the slot afterwards."""

    def _hold(self, slot: int, generation: int) -> None:
        self._check_generation(slot, generation)
        self.words.store(self.geometry.release_word(slot, self.reader), generation)
        self._counts[slot] = self._counts.get(slot, 0) + 1


def booked(kind: type[GuestBook]) -> type[Slab]:
    """Make the slab that keeps its guests so."""

    class Booked(Slab):
        def _stocked(self, poison: Callable[[int], None] | None) -> Stock:
            stock = Stock(self.geometry, self._words, poison=poison)
            stock.guests = kind(self.geometry, self._words)
            return stock

    return Booked


def test_a_slot_that_is_not_retired_is_found() -> None:
    """The guest comes between the writer's look and its reuse."""
    assert "the picture changed under its holder" in broken(handed_on(crash=True, slab=booked(NeverRetires)))


def test_a_hold_that_comes_after_the_look_is_found() -> None:
    """The writer comes between the guest's two steps."""
    assert "the picture changed under its holder" in broken(handed_on(crash=True, guest=HoldsLate))


def test_a_hold_without_its_fence_is_found() -> None:
    """Under TSO: the writer does not see the hold yet when it looks, and the guest sees the old generation still."""
    found = explore(handed_on(crash=True, guest=NoFence), memory=MemoryOrder.TSO, declared=True, transparent=WORDS)
    assert found.verdict is Verdict.VIOLATED
    assert found.failure is not None
    assert "the picture changed under its holder" in found.failure.message


def test_a_guest_that_attaches_is_never_taken_for_a_dead_one() -> None:
    """At no moment of its signature, in a place that nobody had before."""

    def scenario(rt: Runtime) -> None:
        world = World(rt)
        words, word = rt.words(world.shop.memory), world.shop.geometry.signature_word(1)
        words.store(word, 0)
        words.store(word + 1, 0)
        attaching = rt.spawn(world.guest._sign, name="guest")
        assert not world.shop.slab._forget_the_dead()
        attaching.join()

    report = explore(scenario, declared=True)
    assert (report.failure, report.verdict) == (None, Verdict.HOLDS), report.reason
