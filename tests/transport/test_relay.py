"""Handing on to another process: nothing is copied, and the slot comes back whoever lets go or dies."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omni_ipc.errors import FormatError, Full, PeerDied, Timeout, UsageError
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.guests import GuestReader, Outlet, free_place
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.relay import HandedOn, Relay
from omni_ipc.transport.slab import Slab
from tests.support.guests import Picture
from tests.support.lanes import ROOT, RT
from tests.support.waiting import until

CLASSES = (SlotClass(1 << 16, 2),)
COUNT = 8192  # numbers in a slot


class Desk:
    """Writer and reader of a slab of two slots, in this process."""

    def __init__(self, memory: Segment) -> None:
        self.slab = Slab(rt=RT, buffer=memory.view, name="slab")
        reader = SlabReader(rt=RT, buffer=memory.view, name="slab")
        self.outlet = Outlet(reader, memory.fd)

    def receive(self, value: int) -> np.ndarray[Any, Any]:
        """Have a slot filled, sent and received: an array that keeps it until it goes."""
        loan = self.slab.loan(COUNT * 8, timeout=0)
        loan.as_numpy("int64", (COUNT,))[:] = value
        loan.hand_over((0,))
        lease = self.outlet.reader.lease(loan.slot, loan.generation)
        return np.frombuffer(lease.memory(), "int64")


@pytest.fixture
def desk() -> Iterator[Desk]:
    geometry = Geometry(CLASSES, guests=1)
    with Segment.create(geometry.nbytes, name="slab") as memory:
        geometry.lay(memory.view)
        desk = Desk(memory)
        yield desk
        vars(desk).clear()  # pytest keeps it, and it the mapping


@contextmanager
def guest(place: Path, then: str) -> Iterator[subprocess.Popen[str]]:
    """Run the process that arrays are handed on to."""
    command = [sys.executable, "-m", "tests.support.guests", str(place), "trainer", then]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def relay(desk: Desk, place: Path) -> Relay[Picture]:
    return Relay("trainer", desk.outlet, rt=RT, lane="outputs", timeout=30, directory=place)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_what_lies_in_a_slot_is_handed_on_without_a_copy_and_outlives_the_readers_own_hold(
    desk: Desk, tmp_path: Path
) -> None:
    """The slot is the other process's from then on: it goes back with that one's arrays, and not before."""
    with guest(tmp_path, "keep") as process:
        with relay(desk, tmp_path) as relayed:
            array = desk.receive(3)
            assert relayed.send(Picture("whole"), [array]) == HandedOn(COUNT * 8, 0)
            assert said(process) == f"whole {3 * COUNT}"
            del array
            assert desk.slab.held() == 1, "the other process holds it"
            kept = desk.receive(5)
            with pytest.raises(Full):
                desk.slab.loan(1, timeout=0)
            del kept
        assert said(process) == f"closed {3 * COUNT}"
        until(lambda: desk.slab.held() == 0)
        assert process.wait(30) == 0


def test_what_does_not_lie_in_a_slot_as_a_whole_is_copied(desk: Desk, tmp_path: Path) -> None:
    """A part that begins at a line is handed on; a stride, an odd place and an array of its own are not."""
    with guest(tmp_path, "look") as process, relay(desk, tmp_path) as relayed:
        array = desk.receive(2)
        tree = [array[8:16], array[::2], array[1:], np.full(4, 7)]
        assert relayed.send(Picture("parts"), tree) == HandedOn(64, 8 * (COUNT // 2 + COUNT - 1 + 4))
        assert said(process) == f"parts 16 {COUNT} {2 * (COUNT - 1)} 28"
        del array, tree
        until(lambda: desk.slab.held() == 0)


@pytest.mark.torch
def test_torch_tensors_are_handed_on_too(desk: Desk, tmp_path: Path) -> None:
    """They are found by where they lie, and not by what they are."""
    import torch

    with guest(tmp_path, "look") as process, relay(desk, tmp_path) as relayed:
        numbers = np.array(desk.receive(1))
        loan = desk.slab.loan(COUNT * 8, timeout=0)
        loan.as_torch("int64", (COUNT,)).copy_(torch.from_numpy(numbers))
        loan.hand_over((0,))
        tensor = torch.frombuffer(desk.outlet.reader.lease(loan.slot, loan.generation).memory(), dtype=torch.int64)
        assert relayed.send(Picture("tensor"), [tensor]) == HandedOn(COUNT * 8, 0)
        assert said(process) == f"tensor {COUNT}"


def test_a_slot_comes_back_when_the_process_that_it_was_handed_on_to_is_killed(desk: Desk, tmp_path: Path) -> None:
    """The writer finds that out when it needs a slot, and the next guest gets the place."""
    kept = []
    with guest(tmp_path, "keep") as process, relay(desk, tmp_path) as relayed:
        for number in range(2):
            relayed.send(Picture("kept"), [desk.receive(number)])
            assert said(process) == f"kept {number * COUNT}"
        with pytest.raises(UsageError, match="Slab 'slab' has 1 places for guests, and all are taken"):
            free_place(desk.outlet.reader)
        process.kill()
        process.wait()
        kept.append(desk.slab.loan(1, timeout=30))
    with guest(tmp_path, "look") as process, relay(desk, tmp_path) as relayed:
        relayed.send(Picture("next"), [desk.receive(9)])
        assert said(process) == f"next {9 * COUNT}"


def test_a_process_that_dies_before_it_takes_is_told(desk: Desk, tmp_path: Path) -> None:
    """With the record that it did not take; what was to be handed on is still the sender's."""
    with guest(tmp_path, "die") as process, relay(desk, tmp_path) as relayed:
        relayed.send(Picture("first"), [desk.receive(1)])
        process.wait()
        array = desk.receive(2)
        with pytest.raises(PeerDied, match="The reader of lane 'outputs', process"):
            relayed.send(Picture("second"), [array])
        assert array.sum() == 2 * COUNT


def test_a_slot_that_was_released_is_not_handed_on(desk: Desk, tmp_path: Path) -> None:
    """By the reader's own release it may hold other data by now."""
    with guest(tmp_path, "look"), relay(desk, tmp_path) as relayed:
        loan = desk.slab.loan(8, timeout=0)
        loan.hand_over((0,))
        lease = desk.outlet.reader.lease(loan.slot, loan.generation)
        array = np.frombuffer(lease.memory(), "int64")
        lease.release()
        released = r"Slot 0 of slab 'slab' was released\. Hand on what you still hold\."
        with pytest.raises(UsageError, match=released):
            relayed.send(Picture("late"), [array])
        assert desk.slab.held() == 0, "the writer has taken it back"
        with pytest.raises(UsageError, match=released):
            relayed.send(Picture("later"), [array])


def test_a_guest_that_comes_too_late_is_told_that_the_slot_is_gone(desk: Desk) -> None:
    """It holds nothing then, whether the slot was lent again or not."""
    end = GuestReader(rt=RT, buffer=desk.slab._windows.memory, name="slab", reader=1)
    array = desk.receive(1)
    del array
    assert desk.slab.held() == 0
    with pytest.raises(FormatError, match="generation: slot 0 is at 0, and the record at 1: it is stale"):
        end.lease(0, 1)
    with pytest.raises(FormatError, match="generation: slot 0 is at 0, and the record at 0: it is stale"):
        end.lease(0, 0)
    with pytest.raises(FormatError, match="slot: 99, and slab 'slab' has 2"):
        end.lease(99, 1)
    with ExitStack() as loans:
        for _ in range(2):
            loans.callback(desk.slab.loan(1, timeout=0).abort)


def test_two_leases_of_a_guest_on_one_slot_are_one_hold(desk: Desk) -> None:
    """The slot comes back with the last of them."""
    end = GuestReader(rt=RT, buffer=desk.slab._windows.memory, name="slab", reader=1)
    array = desk.receive(1)
    one, other = end.lease(0, 1), end.lease(0, 1)
    del array
    one.release()
    assert desk.slab.held() == 1
    other.release()
    assert desk.slab.held() == 0
    del one, other, end
    assert free_place(desk.outlet.reader) == 1, "who goes leaves its place"


@pytest.mark.parametrize("place", [0, 2])
def test_a_guest_takes_a_place_of_guests(desk: Desk, place: int) -> None:
    """Not that of a reader, nor one that is not there, nor one that is taken."""
    memory = desk.slab._windows.memory
    with pytest.raises(UsageError, match="Slab 'slab' has places 1 to 1 for guests"):
        GuestReader(rt=RT, buffer=memory, name="slab", reader=place)
    end = GuestReader(rt=RT, buffer=memory, name="slab", reader=1)
    with pytest.raises(UsageError, match="Slab 'slab' has its guest 1 already"):
        GuestReader(rt=RT, buffer=memory, name="slab", reader=1)
    del end


def test_a_place_is_given_to_one_guest_at_a_time(desk: Desk, tmp_path: Path) -> None:
    """It is looked at and signed in two steps: who comes in between is put off, and served afterwards."""
    with guest(tmp_path, "look") as process:
        with open(f"/proc/self/fd/{desk.outlet.fd}", "rb") as signing:
            fcntl.flock(signing, fcntl.LOCK_EX)
            with pytest.raises(Timeout, match="Nobody served 'trainer'"):
                Relay("trainer", desk.outlet, rt=RT, lane="outputs", timeout=2, directory=tmp_path)
            assert free_place(desk.outlet.reader) == 1
        with relay(desk, tmp_path) as relayed:
            relayed.send(Picture("first"), [desk.receive(1)])
            assert said(process) == f"first {COUNT}"
