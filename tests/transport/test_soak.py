"""Four writer processes and one reader, for long: nothing lost, doubled, reordered or altered, and nothing grows."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from omni_ipc.errors import PeerClosed
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import Delivery, PortReceiver
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from tests.support.lanes import RT
from tests.support.streams import Item, checksum, slab, tensor_of
from tests.support.zygote import Child, Zygote

WRITERS = 4
TENSOR_EVERY = 100
MOST_GROWTH_BYTES = 8 << 20
RING_BYTES = 1 << 18


class Use(NamedTuple):
    """What a process holds."""

    private_bytes: int
    descriptors: int


def use_of(pid: int) -> Use:
    """Look what a process holds; memory shared with others, as a slab is, is left out."""
    _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    return Use((resident - shared) * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(f"/proc/{pid}/fd")))


def check(delivery: Delivery[Item], expected: int) -> None:
    """Assert that a message is the next one of its writer, and whole."""
    number, text = delivery.message.number, delivery.message.text
    assert number == expected
    tensor = delivery.unpack()
    assert (tensor is None) is (number % TENSOR_EVERY > 0)
    if tensor is not None:
        assert tensor.shape == tensor_of(number).shape
    assert delivery.message.checksum == checksum(number, text, tensor)


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(10_000, id="10 thousand"),
        pytest.param(10_000_000, id="10 million", marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
)
def test_four_writers_deliver_every_message_once_in_order_and_unaltered(children: Zygote, messages: int) -> None:
    """One in a hundred with a tensor of up to 1 MB; memory and descriptors of all processes are what they were early.

    Each writer has a lane and a slab of its own; it ends with its reader's acknowledgement of everything.
    """
    each = messages // WRITERS
    with ExitStack() as stack:
        bell = stack.enter_context(Segment.create(DOORBELL_BYTES, name="soak"))
        doorbell = create_doorbell(rt=RT, buffer=bell.view)
        readers: list[LaneReader] = []
        writers: list[Child] = []
        for number in range(WRITERS):
            ring = stack.enter_context(Segment.create(lane_bytes(RING_BYTES), name="soak"))
            slab_fd, slab_reader = stack.enter_context(slab())
            lane = Lane.create(rt=RT, buffer=ring.view, name=f"{number}")
            readers.append(LaneReader(lane, slab=slab_reader))
            fds = (ring.fd, bell.fd, slab_fd)
            child = children.fork("stream", *fds, messages=each, tensor_every=TENSOR_EVERY)
            writers.append(stack.enter_context(child))
        port = Port(rt=RT, lanes=readers, doorbell=doorbell)
        receiver: PortReceiver[Item] = PortReceiver(port, Item)
        pids = [os.getpid(), *(writer.pid for writer in writers)]
        expected = dict.fromkeys(port.lanes, 0)
        early: list[Use] = []
        while not port.ended:
            try:
                delivery = receiver.receive(60)
            except PeerClosed:
                break
            check(delivery, expected[delivery.lane])
            expected[delivery.lane] += 1
            if not early and min(expected.values()) == each // 4:
                early = [use_of(pid) for pid in pids]
        assert set(expected.values()) == {each}
        for late, soon in zip(map(use_of, pids), early, strict=True):
            assert late.private_bytes - soon.private_bytes < MOST_GROWTH_BYTES
            assert late.descriptors <= soon.descriptors
