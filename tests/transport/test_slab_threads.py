"""A slab that several threads of its process lend from and look at, access by access, and in virtual time."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import cast

import pytest

from omni_ipc.errors import Full
from omni_ipc.records import MemoryOrder, Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore
from omni_ipc.transport import bell, liveness
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.lease import Lease
from omni_ipc.transport.loan import Loan
from omni_ipc.transport.slab import Slab
from tests.support.slabs import Shop

INSIDE = ("omni_ipc.transport.slab", "omni_ipc.transport.stock")
REGIONS = ("Slab.Loan", "Slab.Look", "Slab.Forget")  # only their lock keeps threads apart
WORDS = ("Lease.Release", "Bell.Ring", "Bell.Park")  # whose accesses to shared words are steps, as between processes
LONG_S = 100.0
SMALL, LARGE = 64, 128


@pytest.fixture(autouse=True)
def _sleepers_depend_on_being_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the bound of a sleep, which would hide a lost wake-up."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", math.inf)


class World(Shop):
    """A slab, some of whose slots a reader holds, or has held."""

    def __init__(self, rt: Runtime, *classes: SlotClass, prepare: Callable[[int, int], object] | None = None) -> None:
        kind = cast("type[Slab]", functools.partial(Slab, prepare=prepare))
        super().__init__(classes or (SlotClass(SMALL, 2),), rt=rt, slab=kind)
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
    report = explore(scenario, instrument=INSIDE, transparent=REGIONS, runs=runs)
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


def test_what_a_reader_held_comes_back_as_a_whole() -> None:
    """Whoever counts meanwhile sees all of it, or nothing."""

    def scenario(rt: Runtime) -> int:
        world, counted = World(rt), list[int]()
        for lease in [world.read(), world.read()]:
            lease.never()
        world.together(lambda: world.slab.forget(0), lambda: counted.append(world.slab.held()))
        return counted[0]

    assert explored(scenario) == {"0", "2"}


def test_all_that_was_given_back_can_be_lent_again() -> None:
    """Several slots that were sent, and several that were not."""

    def scenario(rt: Runtime) -> int:
        world = World(rt, SlotClass(SMALL, 4))
        leases = [world.read() for _ in range(2)]
        loans = [world.slab.loan(SMALL, timeout=0) for _ in range(2)]
        world.together(*[lease.release for lease in leases], *[loan.abort for loan in loans])
        return sum(world.lend() is not None for _ in range(4))

    report = explore(scenario, runs=200)
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

    report = explore(scenario, runs=200)
    assert report.failure is None, report.failure


def test_who_waits_behind_another_gets_a_slot_that_would_not_do_for_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its time, whichever of the two began to wait first."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 0.25)

    def scenario(rt: Runtime) -> None:
        world = World(rt, SlotClass(SMALL, 1), SlotClass(LARGE, 1))
        small, large = world.read(SMALL), world.read(LARGE)
        got: dict[int, bool] = {}

        def wait(nbytes: int, seconds: float) -> None:
            got[nbytes] = world.lend(nbytes, seconds) is not None

        def read() -> None:
            rt.sleep(1)
            small.release()

        world.together(lambda: wait(LARGE, 4), lambda: wait(SMALL, 2), read)
        assert got == {SMALL: True, LARGE: False}
        assert large

    report = explore(scenario, runs=200)
    assert report.failure is None, report.failure


@pytest.mark.parametrize("memory", [MemoryOrder.SC, MemoryOrder.TSO])
@pytest.mark.parametrize("sent", [True, False])
def test_who_waits_for_a_large_slot_is_woken_for_it_after_a_small_one(sent: bool, memory: MemoryOrder) -> None:
    """The first wake-up is for nothing, and takes none of the second away, wherever stores are seen late."""

    def scenario(rt: Runtime) -> None:
        world = World(rt, SlotClass(SMALL, 1), SlotClass(LARGE, 1))
        if sent:
            ends = [world.read(nbytes).release for nbytes in (SMALL, LARGE)]
        else:
            ends = [world.slab.loan(nbytes, timeout=0).abort for nbytes in (SMALL, LARGE)]
        rt.spawn(lambda: [end() for end in ends], name="reader")
        assert world.lend(LARGE, LONG_S) is not None
        assert rt.now() == 0, "somebody slept until its time was over"

    report = explore(scenario, declared=sent, transparent=WORDS, memory=memory, runs=300)
    assert report.failure is None, report.failure


@pytest.mark.parametrize("sent", [True, False])
def test_what_was_given_back_last_can_be_lent_whatever_was_given_back_before(sent: bool) -> None:
    """All that was sent, or given up, since anybody asked, is taken note of by the first who asks."""

    def scenario(rt: Runtime) -> bool:
        world = World(rt, SlotClass(SMALL, 3), SlotClass(LARGE, 1))
        small, large = [world.slab.loan(SMALL, timeout=0) for _ in range(3)], world.slab.loan(LARGE, timeout=0)
        for loan in small:
            loan.hand_over((0,)) if sent else loan.abort()
        if sent:
            large.hand_over((0,))
            world.together(world.ends[0].lease(large.slot, large.generation).release)
        else:
            world.together(large.abort)
        return world.lend(LARGE) is not None

    report = explore(scenario, declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("True",)), report.reason


def test_what_a_dead_reader_held_is_lent_to_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its death is told once."""

    def scenario(rt: Runtime) -> bool:
        world, got = World(rt, SlotClass(SMALL, 1)), list[Loan | None]()
        lease = world.read()
        lease.never()
        monkeypatch.setattr(liveness, "ending", lambda _: "killed by SIGKILL")
        world.together(lambda: got.append(world.lend(timeout=LONG_S)))
        assert rt.now() == 0, "somebody slept until its time was over"
        assert not world.slab._forget_the_dead()
        return got[0] is not None

    report = explore(scenario, declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("True",)), report.reason


def test_each_slot_is_prepared_once_and_stays_free_when_that_fails() -> None:
    """Whichever thread meets the failure, another one goes on."""

    def scenario(rt: Runtime) -> tuple[int, int]:
        prepared: list[int] = []

        def prepare(offset: int, _: int) -> None:
            prepared.append(offset)
            if len(prepared) == 1:
                raise MemoryError

        def lend_and_give_up() -> None:
            try:
                world.slab.loan(SMALL, timeout=LONG_S).abort()
            except MemoryError:
                failed.append(True)

        world, failed = World(rt, SlotClass(SMALL, 1), prepare=prepare), list[bool]()
        world.together(*[lend_and_give_up] * 3)
        assert rt.now() == 0, "somebody slept until its time was over"
        return len(failed), len(prepared)

    report = explore(scenario, runs=200)
    assert (report.failure, report.outcomes) == (None, ("(1, 2)",))


def test_who_waits_is_woken_when_a_reader_is_forgotten() -> None:
    """Nobody of that reader is left to wake it."""

    def scenario(rt: Runtime) -> bool:
        world, got = World(rt, SlotClass(SMALL, 1)), list[Loan | None]()
        world.read().never()
        world.together(lambda: got.append(world.lend(timeout=LONG_S)), lambda: world.slab.forget(0))
        assert rt.now() == 0, "somebody slept until its time was over"
        return got[0] is not None

    report = explore(scenario, declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("True",)), report.reason


def test_a_reader_that_attaches_is_never_taken_for_a_dead_one() -> None:
    """At no moment of its signature: the writer would lend again what it holds."""

    def scenario(rt: Runtime) -> None:
        world = World(rt)
        word = world.geometry.signature_word(0)
        words = rt.words(world.memory)
        words.store(word, 0)
        words.store(word + 1, 0)
        attaching = rt.spawn(world.ends[0]._sign, name="reader")
        assert not world.slab._forget_the_dead()
        attaching.join()
        assert words.load(word + 1) == liveness.this_process().pid

    report = explore(scenario, declared=True)
    assert (report.failure, report.verdict) == (None, Verdict.HOLDS), report.reason
