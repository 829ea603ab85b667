"""Handing on under the testbed: what was handed on stays as it is until it is taken, and goes back in the end."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from omni_ipc.errors import Full, PeerClosed, Timeout
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import PortReceiver
from omni_ipc.transport.connection import Connection
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.guests import GuestReader
from omni_ipc.transport.layout import DOORBELL_BYTES, RECORD_BYTES
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.relay import Relay
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import plain_lane
from tests.support.slabs import Note, Shop

COUNT = 8  # numbers in a slot
TIMEOUT_S = 1.0
LONG_S = 100.0


class Guest(GuestReader):
    """Leaves its place as it is: the collector, which may come at any time, would take a step of the run."""

    def __del__(self) -> None:
        return


class MetRelay(Relay[Note]):
    """A relay to a process that it has met already."""

    def __init__(self, reader: Any, writer: LaneWriter) -> None:
        self._reader = reader
        self._timeout = TIMEOUT_S
        self._connection = Connection(writer, contextlib.ExitStack())
        self._writer = writer
        self._kept = deque()


class World:
    """A slab of so many slots, its reader, who hands on, and its guest."""

    def __init__(self, rt: Runtime, slots: int = 1, ring_bytes: int = 1024) -> None:
        self.rt = rt
        self.shop = Shop([SlotClass(COUNT * 8, slots)], guests=1, rt=rt)
        guest = Guest(rt=rt, buffer=self.shop.memory, name="slab", reader=1)
        lane = plain_lane(ring_bytes, rt=rt, name="outputs")
        bell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        self.port = Port(rt=rt, lanes=[LaneReader(lane, slab=guest)], doorbell=bell)
        self.arrived = PortReceiver[Note](self.port, Note)
        self.relay = MetRelay(self.shop.ends[0], LaneWriter(lane, doorbell=bell))

    def receive(self, value: int) -> np.ndarray[Any, Any]:
        """Have a slot filled, sent and received: an array that keeps it until it goes."""
        loan = self.shop.slab.loan(COUNT * 8, timeout=0)
        loan.as_numpy("int64", (COUNT,))[:] = value
        loan.hand_over((0,))
        lease = self.shop.ends[0].lease(loan.slot, loan.generation)
        return np.frombuffer(lease.memory(), "int64")

    def take(self) -> list[int]:
        """Take what was handed on, as the guest, and let it go."""
        delivery = self.arrived.receive(LONG_S)
        return np.asarray(delivery.unpack()).tolist()

    def is_free(self) -> bool:
        """Tell whether the slab has a slot to lend."""
        try:
            loan = self.shop.slab.loan(COUNT * 8, timeout=0)
        except Full:
            return False
        loan.abort()
        return True


def explored(scenario: Callable[[Runtime], object], runs: int = 300) -> set[str]:
    """Sample only: in a run that is cut short, leases would end whose finalizers are steps, too."""
    report = explore(scenario, strategy="sampling", declared=True, runs=runs)
    assert report.failure is None, report.failure
    assert report.verdict is Verdict.BOUNDED, report.reason
    return set(report.outcomes)


def test_what_was_handed_on_is_the_guests_when_the_reader_lets_it_go_at_once() -> None:
    """Whatever the writer fills next, the guest sees what was sent; and in the end every slot is free."""

    def scenario(rt: Runtime) -> list[int]:
        world, seen = World(rt), list[int]()
        guest = rt.spawn(lambda: seen.extend(world.take()), name="guest")
        array = world.receive(1)
        assert world.relay.send(Note(), array).leased_bytes == array.nbytes
        del array
        with contextlib.suppress(Full):
            world.receive(2)
        guest.join()
        world.relay.close()
        assert world.is_free()
        return seen

    assert explored(scenario) == {str([1] * COUNT)}


def test_what_was_not_taken_in_time_is_kept_for_the_guest() -> None:
    """Until it has: then, with what is handed on next, it goes, however much of it there is."""

    def scenario(rt: Runtime) -> None:
        world, seen = World(rt, slots=3), list[int]()
        for value in (1, 2):
            with pytest.raises(Timeout):
                world.relay.send(Note(), world.receive(value))
        guest = rt.spawn(lambda: [seen.append(world.take()[0]) for _ in range(3)], name="guest")
        world.relay.send(Note(), world.receive(3))
        guest.join()
        assert seen == [1, 2, 3]
        assert not world.relay._kept
        world.relay.close()

    explored(scenario)


def test_a_send_without_room_ends_in_its_time() -> None:
    """What does not lie in the slab is copied into the ring, which is full once."""

    def scenario(rt: Runtime) -> None:
        world = World(rt)
        large = np.zeros(64, np.int64)
        with pytest.raises(Timeout):
            world.relay.send(Note(), large)
        began = rt.now()
        with pytest.raises((Full, Timeout)):
            world.relay.send(Note(), large)
        assert rt.now() - began <= 2 * TIMEOUT_S
        assert len(world.relay._kept) == 1, "what was not sent is kept"
        rt.spawn(world.port.close, name="guest").join()

    explored(scenario)


@pytest.mark.parametrize("moment", ["before", "meanwhile"])
def test_a_guest_that_leaves_gives_back_what_it_was_to_take(moment: str) -> None:
    """The sender is told, and keeps nothing for it; its close ends well."""

    def scenario(rt: Runtime) -> None:
        world = World(rt)
        leaving = rt.spawn(world.port.close, name="guest")
        if moment == "before":
            leaving.join()
        with pytest.raises(PeerClosed):
            world.relay.send(Note(), world.receive(1))
        leaving.join()
        assert not world.relay._kept
        world.relay.close()
        assert world.is_free()

    explored(scenario)


def test_whoever_leaves_a_relay_keeps_nothing_for_the_guest() -> None:
    """The slot of what it did not take is free."""

    def scenario(rt: Runtime) -> None:
        world = World(rt)
        with world.relay as relay, contextlib.suppress(Timeout):
            relay.send(Note(), world.receive(1))
        assert world.is_free()
        rt.spawn(world.port.close, name="guest").join()

    explored(scenario)


def test_whoever_leaves_a_relay_without_room_keeps_nothing_for_the_guest_either() -> None:
    """That it was left cannot be said; it is told, and may be said once more when there is room."""

    def scenario(rt: Runtime) -> None:
        world = World(rt)
        with pytest.raises(Timeout):
            world.relay.send(Note(), world.receive(1))
        while world.relay._writer.lane.room() >= RECORD_BYTES:
            world.relay._writer.send(b"", timeout=0)  # smaller than what says that it is closed
        with pytest.raises(Full):
            world.relay.close()
        assert world.is_free()
        rt.spawn(world.port.close, name="guest").join()
        world.relay.close()

    explored(scenario)


@pytest.mark.parametrize("left", [lambda relay: relay, lambda relay: relay._connection], ids=["relay", "connection"])
def test_a_guest_hears_that_a_relay_was_left(
    left: Callable[[MetRelay], Any],
) -> None:
    """It has waited for the next message all the time."""

    def scenario(rt: Runtime) -> None:
        world, heard = World(rt), list[str]()

        def listen() -> None:
            with pytest.raises(PeerClosed):
                world.arrived.receive(LONG_S)
            heard.append("closed")

        guest = rt.spawn(listen, name="guest")
        with left(world.relay):
            pass
        guest.join()
        assert heard == ["closed"]

    explored(scenario)
