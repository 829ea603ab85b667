"""Leases: a slot stays as it is for as long as anybody looks at it, and comes back once, whoever lets go."""

from __future__ import annotations

import gc
import os
from typing import Any

import numpy as np
import pytest

from omni_ipc.errors import FormatError, UsageError
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.layout import FIRST, LAST, TENSOR, Kind, padded
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.slab import Slab
from tests.support.lanes import RT
from tests.support.slabs import Note, Shop

torch = pytest.importorskip("torch")

SENT = np.arange(10_000, dtype=np.int16)
CLASSES = [SlotClass(1 << 15, 3)]


def received(shop: Shop, tree: Any = SENT) -> Any:
    """Send a tree by the slab, and unpack it; the delivery is dropped."""
    shop.sender().send(Note(), tree)
    return shop.receivers[0].receive(0).unpack()


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_view_of_a_view_keeps_the_lease_and_the_last_one_gives_the_slot_back(library: str) -> None:
    """Whichever arrays are made of the one that came, the memory is theirs until none is left."""
    shop = Shop(CLASSES)
    array = received(shop, SENT if library == "numpy" else torch.from_numpy(SENT))
    view = array[10:].reshape(-1, 2)[3]
    del array
    assert (shop.slab.held(), view.tolist()) == (1, [16, 17])
    del view
    assert shop.slab.held() == 0


def test_a_view_in_a_cycle_is_released_by_the_garbage_collector() -> None:
    """Consumers need not think of releasing."""
    shop = Shop(CLASSES)
    gc.disable()
    try:
        cycle: list[Any] = [received(shop)]
        cycle.append(cycle)
        del cycle
        assert shop.slab.held() == 1
        gc.collect()
        assert shop.slab.held() == 0
    finally:
        gc.enable()


def test_a_received_numpy_view_is_read_only() -> None:
    """A reader cannot alter what other readers see."""
    array = received(Shop(CLASSES))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


def test_a_delivery_releases_its_leases_when_told_and_at_the_end_of_its_with() -> None:
    """Whatever the arrays do: the caller said that nobody looks at them any more."""
    shop = Shop(CLASSES)
    shop.sender().send(Note(), [SENT, SENT[:9000]])
    with shop.receivers[0].receive(0) as delivery:
        first, second = delivery.unpack()
        assert (shop.slab.held(), first.tolist(), second.tolist()) == (2, SENT.tolist(), SENT[:9000].tolist())
    assert shop.slab.held() == 0
    delivery.release()


def test_a_message_that_nobody_unpacks_gives_its_slots_back() -> None:
    """Dropped deliveries, and messages that are no such struct, hold nothing."""
    shop = Shop(CLASSES)
    shop.sender().send(Note(), SENT)
    shop.receivers[0].receive(0)
    assert shop.slab.held() == 0
    loan = shop.slab.loan(2000, timeout=0)
    loan.commit(*shop.writers, body=b"\xc1", timeout=0)
    with pytest.raises(FormatError):
        shop.receivers[0].receive(0)
    assert shop.slab.held() == 0


def test_a_lease_is_released_once_and_cannot_be_viewed_afterwards() -> None:
    """A late release of an old lease, or of the collector behind it, never frees what came after it."""
    shop = Shop([SlotClass(64, 1)])
    shop.slab.loan(64, timeout=0).commit(*shop.writers, timeout=0)
    message = shop.readers[0].take()
    assert message is not None
    old = message.tensors[0].lease
    assert old is not None
    old.release()
    shop.slab.loan(64, timeout=0).commit(*shop.writers, timeout=0)
    new = shop.readers[0].take()
    old.release()
    assert old.released
    with pytest.raises(UsageError, match=r"Slot 0 was released.*Copy what you need before release"):
        _ = old.view
    del message, old
    assert shop.slab.held() == 1
    del new
    assert shop.slab.held() == 0


def test_a_slot_that_was_never_lent_is_refused() -> None:
    """Its generation is 0, and no record's is."""
    with pytest.raises(FormatError, match="generation: slot 0 is at 0, and the record at 0: it is stale"):
        Shop().ends[0].lease(0, 0)


def test_a_stale_or_unknown_slot_in_a_record_is_refused() -> None:
    """Never a wrong picture: the generation must be the slot's, and the bytes must lie inside it."""
    for slot, generation, units, nbytes, complaint in (
        (9, 1, 0, 64, "slot: 9, and slab 'slab' has 4"),
        (0, 7, 0, 64, "generation: slot 0 is at 1, and the record at 7: it is stale"),
        (0, 1, 16, 1, "place: 1 bytes at 1024 go beyond slot 0"),
        (0, 1, 0, 1025, "place: 1025 bytes at 0 go beyond slot 0"),
    ):
        shop = Shop()
        shop.slab.loan(1024, timeout=0).commit(*shop.writers, timeout=0)
        head = TENSOR.pack(slot, generation, nbytes, 2, 1, 1, units) + nbytes.to_bytes(8, "little")
        assembly = shop.readers[0]._assembly
        assembly.feed(Kind.MESSAGE, FIRST, 0, bytearray())
        with pytest.raises(FormatError, match=complaint):
            assembly.feed(Kind.TENSOR, LAST, 1, bytearray(head.ljust(padded(len(head), 16), b"\0")))


def test_a_collection_in_the_middle_of_a_release_loses_neither() -> None:
    """The garbage collector may end a lease inside another one's release, in the same thread: no deadlock, no loss."""
    shop = Shop(CLASSES)
    kept = [received(shop), received(shop), received(shop)]
    words = shop.ends[0].words

    class Collecting:
        """Drops the next view at each fence, as a collection could."""

        def fence(self) -> None:
            if kept:
                kept.pop()
            words.fence()

        def __getattr__(self, name: str) -> Any:
            return getattr(words, name)

    shop.ends[0].words = Collecting()  # type: ignore[assignment]
    kept.pop()
    assert (kept, shop.slab.held()) == ([], 0)


def test_a_view_outlives_its_lane_its_slab_and_their_segments() -> None:
    """It keeps the mapping alive until it goes itself; the leak check of this suite sees that it goes."""
    geometry = Geometry([SlotClass(1 << 16, 1)])
    with Segment.create(geometry.nbytes, name="slab") as segment:
        geometry.lay(segment.view)
        slab = Slab(rt=RT, buffer=segment.view, name="slab")
        end = SlabReader(rt=RT, buffer=segment.view, name="slab")
        loan = slab.loan(4, timeout=0)
        loan.view[:] = b"kept"
        view = end.lease(loan.slot, loan.generation).view[:4]
        loan.hand_over([0])
        del slab, end, loan
    assert bytes(view) == b"kept"


def test_arrays_of_one_shared_slot_hold_it_together() -> None:
    """Small tensors share a slot and a lease; the last of them gives it back."""
    shop = Shop([SlotClass(1 << 18, 2)])
    small = [np.full(5_000, number, np.uint8) for number in range(3)]
    arrays = received(shop, small)
    assert (shop.slab.held(), [int(array[-1]) for array in arrays]) == (1, [0, 1, 2])
    del arrays[1:]
    assert shop.slab.held() == 1
    arrays.clear()
    assert shop.slab.held() == 0


def test_a_forked_child_releases_nothing_of_its_parents() -> None:
    """It inherits the views, and drops them; the parent's leases stand."""
    geometry = Geometry([SlotClass(1 << 16, 1)])
    with Segment.create(geometry.nbytes, name="slab") as segment:
        geometry.lay(segment.view)
        slab = Slab(rt=RT, buffer=segment.view, name="slab")
        end = SlabReader(rt=RT, buffer=segment.view, name="slab")
        loan = slab.loan(4, timeout=0)
        lease = end.lease(loan.slot, loan.generation)
        loan.hand_over([0])
        child = os.fork()
        if not child:
            lease.release()
            os._exit(0)
        os.waitpid(child, 0)
        assert slab.held() == 1
        lease.release()
        assert slab.held() == 0
        del slab, end, loan, lease
