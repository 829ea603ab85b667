"""One message to several readers that share its slots: on every lane, or on none."""

from __future__ import annotations

import numpy as np
import pytest

from omni_ipc.errors import Full, PeerClosed, UsageError
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import plain_lane
from tests.support.slabs import Note, Shop

SENT = np.arange(10_000, dtype=np.int64)


def fill(shop: Shop) -> None:
    """Leave no room in the second lane."""
    while shop.writers[1].lane.room() >= 64:
        shop.writers[1].send(b"x" * 40, timeout=0)


def test_every_reader_sees_the_same_slot_and_the_last_one_gives_it_back() -> None:
    """One copy for all; who releases first takes nothing from the others."""
    shop = Shop([SlotClass(1 << 17, 2)], readers=3)
    shop.sender().send(Note("to all"), SENT)
    views = [receiver.receive(0).unpack() for receiver in shop.receivers]
    assert all(np.shares_memory(views[0], view) and view.tolist() == SENT.tolist() for view in views)
    for left in (1, 1, 0):
        views.pop(0)
        assert shop.slab.held() == left


def test_a_loan_is_committed_to_several_lanes_at_once() -> None:
    """Producing in place costs no copy at all, whatever the number of readers."""
    shop = Shop(readers=2)
    loan = shop.slab.loan(8, timeout=0)
    loan.as_numpy("int64", ())[()] = 42
    loan.commit(*shop.writers, timeout=0)
    messages = [reader.take() for reader in shop.readers]
    assert [int.from_bytes(message.tensors[0].data, "little") for message in messages if message] == [42, 42]


def test_if_one_lane_is_full_no_reader_sees_anything() -> None:
    """The slots come back, and the lanes with room stay as they are."""
    shop = Shop([SlotClass(1 << 17, 2)], readers=2, ring_bytes=1024)
    fill(shop)
    with pytest.raises(Full, match="Lane 'to 1'"):
        shop.sender().send(Note(), SENT)
    assert shop.readers[0].take() is None
    assert (shop.slab.held(), shop.lent()) == (0, 0)


def test_if_one_reader_has_closed_no_other_sees_anything() -> None:
    """Its lane must be dropped from the sender first; until then each send says so."""
    shop = Shop([SlotClass(1 << 17, 2)], readers=2, ring_bytes=1024)
    fill(shop)
    shop.readers[1].close()
    with pytest.raises(PeerClosed, match="Lane 'to 1'"):
        shop.sender().send(Note(), SENT)
    assert shop.readers[0].take() is None
    assert (shop.slab.held(), shop.lent()) == (0, 0)


def test_two_lanes_of_one_reader_are_refused() -> None:
    """It has one release word a slot, so its first release would free what its second lane still brings."""
    shop = Shop()
    twin = LaneWriter(plain_lane(name="twin"))
    loan = shop.slab.loan(8, timeout=0)
    with pytest.raises(UsageError, match=r"readers \[0, 0\].*slab_reader=n"):
        loan.commit(shop.writers[0], twin, timeout=0)
    with pytest.raises(UsageError, match="one lane or more"):
        loan.commit(timeout=0)
    assert (shop.slab.held(), shop.lent()) == (0, 1)


def test_what_cannot_be_sent_at_once_is_refused_whole() -> None:
    """A broadcast of fragments could end half-way on some lanes."""
    shop = Shop(readers=2, ring_bytes=1024)
    with pytest.raises(UsageError, match=r"at once: 256 at most\..*into a slab"):
        shop.sender(slab=False).send(Note(), np.zeros(300, np.uint8))
    assert [reader.take() for reader in shop.readers] == [None, None]
