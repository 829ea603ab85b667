"""The historical arrangements: they carry messages as the product's links do, and what they cost and lose is shown."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from omni_ipc.errors import PeerClosed, Timeout
from omni_ipc.scenarios.legacy.pickled_queue import SLOT_BYTES, PickledQueue
from omni_ipc.scenarios.legacy.pickling import INLINE_BYTES, Pickled, dumps, loads
from omni_ipc.scenarios.legacy.pubsub import Socket
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.layout import WRITE_POSITION
from omni_ipc.transport.placing import INLINE_MESSAGE_BYTES
from tests.support.slabs import Note, Shop

torch = pytest.importorskip("torch")

RT = NativeRuntime()
VIEWS, SHARE = 32, 31_250  # 32 requests of 125,000 bytes: none is near the threshold


class Ready(msgspec.Struct, frozen=True):
    """A message."""

    number: int


def joined() -> Socket[Pickled]:
    """Make a socket that loses nothing."""
    socket: Socket[Pickled] = Socket(rt=RT)
    socket.join()
    return socket


def sent_by_ours(tree: Any) -> tuple[int, int, int]:
    """Send a tree on a lane beside a slab: bytes in the ring, bytes of data in it, bytes of data in the slab."""
    shop = Shop([SlotClass(1 << 17, 32), SlotClass(1 << 20, 32)], ring_bytes=1 << 20)
    shop.sender().send(Note(), tree)
    crossed = shop.writers[0].lane.words.load(WRITE_POSITION)
    tensors = shop.receivers[0].receive(0)._tensors
    inline, placed = (sum(t.data.nbytes for t in tensors if (t.lease is None) is place) for place in (True, False))
    return crossed, inline, placed


def test_a_pickled_queue_keeps_the_contract_of_links_while_nothing_overflows() -> None:
    """Messages in order, once, unaltered, with the trees beside them; then the goodbye of every writer."""
    queue: PickledQueue[Ready] = PickledQueue(rt=RT, overflow=Socket(rt=RT))
    receiver: Receiver[Ready] = queue
    writers: list[Sender[Ready]] = [queue.writer(), queue.writer()]
    small, large = torch.arange(3), np.arange(INLINE_BYTES, dtype=np.uint8).reshape(-1, 4)
    writers[0].send(Ready(1), {"small": small})
    writers[1].send(Ready(2), [np.tile(large, 2)[:, ::3], None])
    first, second = receiver.receive(0), receiver.receive(0)
    assert (first.message, second.message) == (Ready(1), Ready(2))
    assert first.unpack()["small"].tolist() == [0, 1, 2]
    assert np.array_equal(second.unpack()[0], np.tile(large, 2)[:, ::3])
    with pytest.raises(Timeout, match="Nothing came within 0 s"):
        receiver.receive(0)
    for writer in writers:
        writer.close()
    with pytest.raises(PeerClosed):
        receiver.receive(0)


def test_what_does_not_fit_into_a_slot_comes_by_the_socket() -> None:
    """If nothing goes wrong, nobody notices; a receiver that was closed says so."""
    queue: PickledQueue[Ready] = PickledQueue(rt=RT, overflow=joined(), slot_bytes=500)
    writer = queue.writer()
    writer.send(Ready(1), np.arange(100))
    writer.send(Ready(2))
    assert queue.receive(0).unpack().tolist() == list(range(100))
    assert queue.receive(0).message == Ready(2)
    queue.close()
    with pytest.raises(PeerClosed, match="or its reader has"):
        queue.receive(0)


def test_only_what_shows_more_than_the_threshold_is_set_aside() -> None:
    """A copy of what it shows, whatever it is part of: the threshold asks each value by itself."""
    storage = torch.zeros(3 * INLINE_BYTES, dtype=torch.uint8)
    under, over = storage[:INLINE_BYTES], storage[: INLINE_BYTES + 1]
    pickled = dumps([under, over])
    assert [value.untyped_storage().nbytes() for value in pickled.aside] == [INLINE_BYTES + 1]
    assert pickled.wire_bytes > storage.nbytes
    assert [value.nbytes for value in loads(pickled)] == [INLINE_BYTES, INLINE_BYTES + 1]


def test_a_pickled_view_ships_its_whole_storage_and_ours_only_what_it_shows() -> None:
    """The defect view_storage_packing: 32 views of a batch carry it 32 times; ours, once, and 8 KiB beside it."""
    batch = torch.zeros(VIEWS, SHARE)
    pickled = dumps((Ready(1), list(batch)))
    assert pickled.aside == ()  # each of them was asked, and is small
    assert 0 <= pickled.wire_bytes - VIEWS * batch.nbytes < 16 << 10
    assert pickled.wire_bytes > 128_000_000
    crossed, inline, placed = sent_by_ours(list(batch))
    assert crossed <= 8 << 10
    assert (inline, placed) == (0, batch.nbytes)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_values_under_the_threshold_overflow_a_slot_together_and_ours_stays_within_its_budget(library: str) -> None:
    """The defect aggregate_overflow: 32 values of 900 kB, of which none was asked about the others."""
    values: list[Any] = [np.zeros(900_000, np.uint8) for _ in range(32)]
    if library == "torch":
        values = list(map(torch.from_numpy, values))
    pickled = dumps((Ready(1), values))
    assert pickled.aside == ()
    assert SLOT_BYTES < 28_800_000 < pickled.wire_bytes < 28_820_000
    crossed, inline, placed = sent_by_ours(values)
    assert inline <= INLINE_MESSAGE_BYTES
    assert crossed <= inline + (8 << 10)
    assert inline + placed == 32 * 900_000


def test_such_a_message_takes_the_way_that_loses_it() -> None:
    """The sender is told nothing; the reader finds a slot, and no payload."""
    queue: PickledQueue[Ready] = PickledQueue(rt=RT, overflow=Socket(rt=RT))
    queue.writer().send(Ready(1), [np.zeros(900_000, np.uint8) for _ in range(32)])
    with pytest.raises(Timeout, match="No payload came within 0 s"):
        queue.receive(0)


# The socket


def test_a_socket_drops_what_nobody_has_subscribed_to() -> None:
    """The publisher hears nothing of it, in whichever order it comes."""

    def scenario(rt: ControlledRuntime) -> str:
        socket: Socket[str] = Socket(rt=rt)
        joining = rt.spawn(socket.join, name="subscriber")
        socket.publish("first")
        joining.join()
        socket.publish("second")
        return _drained(socket)

    assert set(explore(scenario, declared=True).outcomes) == {"'first second'", "'second'"}


def test_a_socket_drops_what_it_has_no_room_for() -> None:
    """Any of them but the first: which ones, only the reader's pace decides."""

    def scenario(rt: ControlledRuntime) -> str:
        socket: Socket[str] = Socket(rt=rt, high_water=1)
        socket.join()
        publisher = rt.spawn(lambda: [socket.publish(text) for text in ("1", "2", "3")], name="publisher")
        first = socket.receive(1)
        publisher.join()
        return f"{first} {_drained(socket)}"

    assert set(explore(scenario, declared=True).outcomes) == {"'1 2'", "'1 3'", "'1 '"}


def _drained(socket: Socket[str]) -> str:
    """Take what there is."""
    found = []
    while True:
        try:
            found.append(socket.receive(0))
        except Timeout:
            return " ".join(found)
