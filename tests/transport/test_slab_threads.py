"""A slab that several threads of its process lend from and look at, access by access, and in virtual time."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from omni_ipc.errors import Full
from omni_ipc.records import MemoryOrder, Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore
from omni_ipc.transport import bell, liveness
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.lease import Lease
from omni_ipc.transport.loan import Loan
from tests.support.slabs import Shop

INSIDE = ("omni_ipc.transport.slab", "omni_ipc.transport.stock")
WORDS = ("Lease.Release", "Bell.Ring", "Bell.Park")  # whose accesses to shared words are steps, as between processes
LONG_S = 100.0
SMALL, LARGE = 64, 128


@pytest.fixture(autouse=True)
def _sleepers_depend_on_being_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the bound of a sleep, which would hide a lost wake-up."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", math.inf)


class World(Shop):
    """A slab, some of whose slots a reader holds, or has held."""

    def __init__(self, rt: Runtime, *classes: SlotClass, **options: int) -> None:
        super().__init__(classes or (SlotClass(SMALL, 2),), rt=rt, **options)
        self.rt = rt

    def read(self, nbytes: int = SMALL) -> Lease:
        """Have a slot lent, sent and received."""
        loan = self.slab.loan(nbytes, timeout=0)
        loan.hand_over((0,))
        return self.ends[0].lease(loan.slot, loan.generation)

    def lend(self, nbytes: int = SMALL, timeout: float = 0) -> Loan | None:
        """Lend a slot, if there is one."""
        try:
            return self.slab.loan(nbytes, timeout=timeout)
        except Full:
            return None

    def together(self, *doing: Callable[[], object]) -> None:
        """Do all at once."""
        tasks = [self.rt.spawn(each, name=f"thread {number}") for number, each in enumerate(doing)]
        for task in tasks:
            task.join()


def explored(scenario: Callable[[Runtime], object], runs: int = 300) -> set[str]:
    """Run it in many orders of all that the slab does; none fails."""
    report = explore(scenario, instrument=INSIDE, runs=runs)
    assert report.failure is None, report.failure
    assert report.verdict in (Verdict.HOLDS, Verdict.BOUNDED), report.reason
    return set(report.outcomes)


def test_threads_that_lend_at_once_get_slots_of_their_own() -> None:
    """Each with a use of its own, of slots that a reader has just let go."""

    def scenario(rt: Runtime) -> list[int]:
        world, got = World(rt), list[Loan | None]()
        for lease in [world.read(), world.read()]:
            lease.release()
        world.together(*[lambda: got.append(world.lend())] * 2)
        loans = [loan for loan in got if loan is not None]
        for loan in loans:
            word = world.geometry.generation_word(loan.slot)
            assert rt.words(world.memory).load(word) == loan.generation == 2, "the slot is known by another use"
        slots = sorted(loan.slot for loan in loans)
        for loan in loans:
            loan.abort()
        return slots

    assert explored(scenario) == {"[0, 1]"}


@pytest.mark.parametrize("look", ["held", "may_come", "_has_free"])
def test_who_only_looks_disturbs_nobody_who_lends(look: str) -> None:
    """What was released, committed and aborted is taken note of by one of them, whichever comes first."""

    def scenario(rt: Runtime) -> bool:
        world, got = World(rt), list[Loan | None]()
        given_up = world.slab.loan(SMALL, timeout=0)
        world.read().release()
        given_up.now()
        asked = (SMALL,) * (look != "held")
        world.together(lambda: got.append(world.lend()), lambda: getattr(world.slab, look)(*asked))
        (loan,) = got
        assert world.slab.held() == 0, "a slot was lost"
        assert loan is not None
        loan.abort()
        return world.lend() is not None

    assert explored(scenario) == {"True"}


def test_all_that_was_given_back_can_be_lent_again() -> None:
    """Several slots that were sent, and several that were not."""

    def scenario(rt: Runtime) -> int:
        world = World(rt, SlotClass(SMALL, 4))
        leases = [world.read() for _ in range(2)]
        loans = [world.slab.loan(SMALL, timeout=0) for _ in range(2)]
        world.together(*[lease.release for lease in leases], *[loan.abort for loan in loans])
        return sum(world.lend() is not None for _ in range(4))

    report = explore(scenario, declared=True, runs=200)
    assert (report.failure, set(report.outcomes)) == (None, {"4"})


def test_each_thread_waits_as_long_as_it_said() -> None:
    """Also behind another one that waits for longer; and whoever comes after both is served as ever."""

    def scenario(rt: Runtime) -> None:
        world, waited = World(rt, SlotClass(SMALL, 1)), dict[float, float]()
        lease = world.read()

        def wait(seconds: float) -> None:
            assert world.lend(timeout=seconds) is None
            waited[seconds] = rt.now()

        world.together(lambda: wait(LONG_S), lambda: wait(1.0))
        assert waited == {1.0: 1.0, LONG_S: LONG_S}
        rt.spawn(lease.release, name="reader")
        assert world.lend(timeout=LONG_S) is not None
        assert rt.now() == LONG_S, "somebody slept until its time was over"

    report = explore(scenario, declared=True, runs=200)
    assert report.failure is None, report.failure


@pytest.mark.parametrize("memory", [MemoryOrder.SC, MemoryOrder.TSO])
def test_who_waits_for_a_large_slot_is_woken_for_it_after_a_small_one(memory: MemoryOrder) -> None:
    """The first wake-up is for nothing, and takes none of the second away, wherever stores are seen late."""

    def scenario(rt: Runtime) -> None:
        world = World(rt, SlotClass(SMALL, 1), SlotClass(LARGE, 1))
        small, large = world.read(SMALL), world.read(LARGE)

        def let_go() -> None:
            small.release()
            large.release()

        rt.spawn(let_go, name="reader")
        assert world.lend(LARGE, LONG_S) is not None
        assert rt.now() == 0, "somebody slept until its time was over"

    report = explore(scenario, declared=True, transparent=WORDS, memory=memory, runs=1000)
    assert report.failure is None, report.failure


def test_a_reader_that_attaches_is_never_taken_for_a_dead_one() -> None:
    """At no moment of its signature: the writer would lend again what it holds."""

    def scenario(rt: Runtime) -> None:
        world = World(rt)
        word = world.geometry.signature_word(0)
        words = rt.words(world.memory)
        words.store(word + 1, 0)
        attaching = rt.spawn(world.ends[0]._sign, name="reader")
        assert not world.slab._forget_the_dead()
        attaching.join()
        assert words.load(word + 1) == liveness.this_process().pid

    report = explore(scenario, declared=True)
    assert (report.failure, report.verdict) == (None, Verdict.HOLDS), report.reason
