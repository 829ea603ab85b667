"""Structs with trees beside them, between senders and one receiver."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from omni_ipc.errors import FormatError, PeerClosed, PeerFailed, Timeout, UsageError
from omni_ipc.transport import wire
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.layout import Kind
from omni_ipc.transport.wire import RemoteError
from tests.support.lanes import plain_port


class Ready(msgspec.Struct, tag=True):
    """An output is there."""

    output: str


class Done(msgspec.Struct, tag=True):
    """A computation is done."""

    rpc: int


Reply = Ready | Done


def test_a_struct_arrives_with_the_tree_beside_it() -> None:
    """The tree stays packed until it is asked for; without one there is None."""
    port, (main, output) = plain_port("main", "output")
    receiver: PortReceiver[Reply] = PortReceiver(port, Reply)
    LaneSender[Reply](main, timeout=0).send(Done(3))
    LaneSender[Reply](output, timeout=0).send(Ready("b"), [np.arange(3)])
    first, second = receiver.receive(0), receiver.receive(0)
    assert (first.lane, first.message, first.unpack()) == ("main", Done(3), None)
    assert (second.lane, second.message, second.unpack()[0].tolist()) == ("output", Ready("b"), [0, 1, 2])


def test_a_payload_that_cannot_travel_leaves_the_lane_untouched() -> None:
    """Nothing is written before everything is packed."""
    port, (writer,) = plain_port("out")
    with pytest.raises(UsageError, match=r"payload\[1\]\.latents is a builtins\.object"):
        LaneSender[Reply](writer, timeout=0).send(Ready("b"), [np.zeros(1), {"latents": object()}])
    assert writer.lane.counts() == (0, 0)
    with pytest.raises(Timeout):
        PortReceiver[Reply](port, Reply).receive(0)


def test_one_wrong_message_costs_one_message() -> None:
    """A struct of another type is refused, and the next message arrives."""
    port, (writer,) = plain_port("out")
    receiver: PortReceiver[Reply] = PortReceiver(port, Reply)
    writer.send(wire.encode([{"type": "Ready", "output": 5}, None]), timeout=0)
    LaneSender[Reply](writer, timeout=0).send(Ready("next"))
    with pytest.raises(FormatError, match=r"Expected `str`, got `int` - at `\$\[0\]\.output`"):
        receiver.receive(0)
    assert receiver.receive(0).message == Ready("next")


def test_an_error_record_becomes_an_error_here() -> None:
    """What a writer reports of itself is raised with its text."""
    port, (writer,) = plain_port("out")
    writer.send(wire.encode(RemoteError.from_exception(KeyError("x"))), timeout=0, kind=Kind.ERROR)
    with pytest.raises(PeerFailed, match=r"The writer of lane 'out' failed with builtins\.KeyError: 'x'"):
        PortReceiver[Reply](port, Reply).receive(0)


def test_the_receiver_ends_when_every_sender_has_closed() -> None:
    """One sender's close is no end: the others are heard to their last message."""
    port, writers = plain_port("main", "output")
    main, output = (LaneSender[Reply](writer, timeout=0) for writer in writers)
    receiver: PortReceiver[Reply] = PortReceiver(port, Reply)
    main.close()
    output.send(Ready("last"))
    output.close()
    assert receiver.receive(0).message == Ready("last")
    with pytest.raises(PeerClosed):
        receiver.receive(0)


def test_a_receiver_that_was_closed_receives_nothing_more() -> None:
    """Even if something lies there."""
    port, (writer,) = plain_port("out")
    LaneSender[Reply](writer, timeout=0).send(Done(1))
    receiver: PortReceiver[Reply] = PortReceiver(port, Reply)
    receiver.close()
    with pytest.raises(PeerClosed, match=r"The port was closed\."):
        receiver.receive(0)
