"""Lanes between real processes, which come late, die, and never get in each other's way."""

from __future__ import annotations

import os

import pytest

from omni_ipc.errors import PeerClosed, PeerDied
from omni_ipc.transport import bell
from omni_ipc.transport.layout import WRITE_POSITION
from omni_ipc.transport.tensor import Framework, Tensor
from tests.support.lanes import shared


def test_messages_and_tensors_come_back_from_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any size, to a reader that sleeps for a minute unless it is woken."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 60.0)
    with shared() as link, link.child("echo") as child:
        for size in (0, 1, 63, 1000, 20_000, 300_000):
            body, data = os.urandom(size), memoryview(os.urandom(size))
            sent = Tensor(Framework.NUMPY, "uint8", (size,), data)
            link.writer.send(body, [sent], timeout=30)
            lane, message = link.port.receive(30)
            assert (lane, bytes(message.body), message.tensors) == ("back", body, (sent,))
        link.writer.close(30)
        with pytest.raises(PeerClosed):
            link.port.receive(30)
        assert child.wait(30) == 0
        assert link.there.counts() == (link.there.counts().written,) * 2


def test_what_was_sent_before_the_reader_came_is_not_lost() -> None:
    """There is no slow joiner: the first message waits in the ring for whoever attaches."""
    with shared() as link:
        for number in range(2000):
            link.writer.send(b"%d" % number, timeout=30)
        link.writer.close(30)
        with link.child("count") as child:
            assert bytes(link.port.receive(30)[1].body) == b"2000"
            assert child.wait(30) == 0


def test_a_writer_waits_for_a_slow_reader_in_another_process() -> None:
    """A ring many times smaller than what is sent loses nothing."""
    with shared(ring_bytes=512) as link, link.child("count") as child:
        for number in range(2000):
            link.writer.send(b"%d" % number, timeout=30)
        link.writer.close(30)
        assert bytes(link.port.receive(30)[1].body) == b"2000"
        assert child.wait(30) == 0


def test_a_writer_killed_amid_a_record_has_not_published_it() -> None:
    """The bytes are there, the one store that publishes is not; its reader is told where it stopped."""
    with shared() as link, link.child("die_while_writing") as child:
        assert child.wait(30) == -9
        assert bytes(link.port.receive(30)[1].body) == b"whole"
        written = link.back.words.load(WRITE_POSITION)
        assert bytes(link.back.read(written + 16, 8)) == b"halfhalf"
        with pytest.raises(PeerDied, match="died after record 0: it has ended"):
            link.port.receive(30)
