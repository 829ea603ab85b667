"""One message to several readers that share its slots: on every lane, or on none."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from omni_ipc.errors import Full, PeerClosed, Timeout, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT, plain_lane
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


def test_if_this_side_closed_one_lane_no_reader_sees_anything() -> None:
    """Wherever it stands among them: the slot is not taken back under a reader that was sent it."""
    shop = Shop([SlotClass(1 << 17, 1)], readers=2)
    shop.writers[1].close(0)
    loan = shop.slab.loan(8, timeout=0)
    with pytest.raises(UsageError, match="Lane 'to 1' is closed"):
        loan.commit(*shop.writers, timeout=0)
    assert shop.readers[0].take() is None
    assert (shop.slab.held(), shop.lent()) == (0, 1)


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


LARGE = np.arange(300, dtype=np.uint8)  # a dozen pieces in a ring of 256 bytes


def small(readers: int = 2, rt: Runtime = RT) -> Shop:
    """Make lanes that a large message does not fit into."""
    return Shop(readers=readers, ring_bytes=256, rt=rt)


def test_what_finds_no_slot_reaches_every_reader_in_pieces() -> None:
    """However small the rings; a slower reader holds up the others, and nobody gets anything else."""
    shop = small(readers=3)
    got: list[tuple[int, list[int]]] = []

    def read(number: int) -> None:
        tree = shop.receivers[number].receive(10).unpack()
        got.append((number, tree.tolist()))

    tasks = [RT.spawn(read, number, name=f"reader {number}") for number in range(3)]
    shop.sender(10, slab=False).send(Note(), LARGE)
    for task in tasks:
        task.join(10)
    assert sorted(got) == [(number, LARGE.tolist()) for number in range(3)]


def test_if_one_reader_takes_nothing_no_other_sees_a_message_in_pieces() -> None:
    """It has had some of them, and drops them when the next message begins; nothing is left of it on any lane."""
    shop = small()
    first: list[Note] = []
    reading = RT.spawn(lambda: first.append(shop.receivers[0].receive(30).message), name="reader")
    with pytest.raises(Full, match="Lane 'to 1'"):
        shop.sender(0.2, slab=False).send(Note("lost"), LARGE)
    assert shop.readers[1].take() is None
    shop.sender(slab=False).send(Note("next"))
    reading.join(30)
    assert [*first, shop.receivers[1].receive(0).message] == [Note("next")] * 2
    assert [reader.abandoned for reader in shop.readers] == [1, 1]


def test_what_one_reader_would_not_take_is_begun_on_no_lane() -> None:
    """The limits of the readers differ, and the sender learns of it before anything is written."""
    shop = small()
    shop.writers[1].lane.max_message_bytes = 200
    with pytest.raises(UsageError, match=r"Lane 'to 1': a message of 3\d\d bytes; its reader takes 200"):
        shop.sender(slab=False).send(Note(), LARGE)
    assert [reader.ready() for reader in shop.readers] == [False, False]


def test_a_message_in_pieces_is_seen_by_all_or_by_none_in_every_order() -> None:
    """One reader takes some pieces, and leaves at any moment: what the sender is told then holds for the other one."""

    def scenario(rt: ControlledRuntime) -> str:
        shop = small(rt=rt)
        seen: list[Note] = []

        def read() -> None:
            with contextlib.suppress(Timeout):
                seen.append(shop.receivers[0].receive(1).message)

        def leave() -> None:
            shop.readers[1].take()
            shop.readers[1].close()

        tasks = [rt.spawn(read, name="reader"), rt.spawn(leave, name="leaver")]
        try:
            shop.sender(2, slab=False).send(Note(), LARGE[:64])
            sent = True
        except (Full, PeerClosed):
            sent = False
        for task in tasks:
            task.join()
        assert bool(seen) == sent
        return str(sent)

    report = explore(scenario, strategy="random", runs=300)
    assert report.failure is None
    assert set(report.outcomes) == {"'True'", "'False'"}
