"""A port that is read from an event loop: woken by an eventfd, cancelled without loss, idle at no cost."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import msgspec
import pytest

from omni_ipc.errors import FormatError, PeerClosed, PeerDied, Timeout, UsageError
from omni_ipc.transport import bell
from omni_ipc.transport.bell import create_doorbell, open_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import RT, LateSleeper, inbound, plain_lane, plain_port
from tests.support.roles import body_of
from tests.support.waiting import within
from tests.support.zygote import Zygote


@pytest.fixture
def eventfd() -> Iterator[int]:
    fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    yield fd
    os.close(fd)


@pytest.fixture
def lane(eventfd: int) -> tuple[Port, LaneWriter]:
    """A port for an event loop in plain memory, and the writer of its one lane."""
    doorbell = create_doorbell(rt=RT, buffer=memoryview(bytearray(DOORBELL_BYTES)), eventfd=eventfd)
    lane = plain_lane(1 << 16)
    return Port(rt=RT, lanes=[LaneReader(lane)], doorbell=doorbell), LaneWriter(lane, doorbell=doorbell)


async def bodies(port: Port, count: int) -> list[bytes]:
    """Receive messages."""
    return [bytes((await port.receive_async(30))[1].body) for _ in range(count)]


def test_messages_of_another_process_wake_the_loop(children: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small and large sizes, through a ring that is often full and often empty; no sleep ends by its bound."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 60.0)
    with inbound("out", eventfd=True) as link:
        with children.fork("write", *link.fds["out"], count=200, then="close"):
            assert asyncio.run(bodies(link.port, 200)) == [body_of(number) for number in range(200)]


def test_no_wake_up_of_a_loop_is_lost(lane: tuple[Port, LaneWriter], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand hand-overs between a thread and a loop, each of which waits for the other."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 60.0)
    port, writer = lane
    back, (to_thread,) = plain_port("back")

    def echo() -> None:
        for _ in range(2000):
            writer.send(bytes(back.receive(30)[1].body), timeout=30)

    async def converse() -> None:
        for number in range(2000):
            to_thread.send(b"%d" % number, timeout=30)
            assert await bodies(port, 1) == [b"%d" % number]

    task = RT.spawn(echo, name="echo")
    asyncio.run(converse())
    task.join(30)


def test_a_task_that_is_cancelled_at_any_await_has_taken_nothing(lane: tuple[Port, LaneWriter]) -> None:
    """Cancelled before it began, parked, and with a message already on its way: all arrive, once and in order."""
    port, writer = lane

    async def receive_after_cancelling(turns: int, early: bool) -> bytes:
        task = asyncio.ensure_future(port.receive_async(30))
        for _ in range(turns):
            await asyncio.sleep(0)
        if early:
            writer.send(b"body", timeout=0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if not early:
            writer.send(b"body", timeout=0)
        (body,) = await bodies(port, 1)
        with pytest.raises(Timeout):
            await port.receive_async(0)
        return body

    for turns in range(4):
        for early in (False, turns > 0):
            assert asyncio.run(receive_after_cancelling(turns, early)) == b"body"


def test_a_loop_whose_receives_are_cancelled_all_the_time_loses_nothing(children: Zygote) -> None:
    """A writer that never stops, and a reader that gives up after a moment, again and again."""

    async def receive_impatiently(port: Port) -> list[bytes]:
        received: list[bytes] = []
        while len(received) < 300:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.0005):
                    while True:
                        received += await bodies(port, 1)
                        await asyncio.sleep(0)
        return received

    with inbound("out", eventfd=True) as link, children.fork("write_for_ever", *link.fds["out"]):
        received = asyncio.run(receive_impatiently(link.port))
    assert received == [body_of(number) for number in range(len(received))]


def test_what_happens_just_before_the_loop_sleeps_is_seen(eventfd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader looks again after it has said that it sleeps: for a message, and for the close of the port."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 60.0)
    rt = LateSleeper()
    doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)), eventfd=eventfd)
    lane = plain_lane()
    port, writer = Port(rt=RT, lanes=[LaneReader(lane)], doorbell=doorbell), LaneWriter(lane)
    with within(15):
        rt.at_store.append(lambda: writer.send(b"late", timeout=0))
        assert asyncio.run(bodies(port, 1)) == [b"late"]
        rt.at_store.append(port.close)
        with pytest.raises(PeerClosed):
            asyncio.run(port.receive_async(30))


def test_a_receive_that_times_out_in_a_loop_has_changed_nothing(lane: tuple[Port, LaneWriter], eventfd: int) -> None:
    """The loop watches nothing more, no flag is left up, no ring is pending, and the next message arrives."""
    port, writer = lane

    async def time_out(timeout: float) -> None:
        with pytest.raises(Timeout, match="Nothing came on out within"):
            await port.receive_async(timeout)
        assert not asyncio.get_running_loop().remove_reader(eventfd)

    for timeout in (0, 0.02, 0.15):
        asyncio.run(time_out(timeout))
    writer.send(b"body", timeout=0)
    with pytest.raises(BlockingIOError):
        os.eventfd_read(eventfd)  # nobody sleeps, so nobody was rung
    assert asyncio.run(bodies(port, 1)) == [b"body"]


def test_a_busy_port_leaves_the_loop_its_other_tasks(lane: tuple[Port, LaneWriter]) -> None:
    """A thousand messages lie there: others run before all of them are taken, and a cancellation is seen."""
    port, writer = lane
    for number in range(1000):
        writer.send(b"%d" % number, timeout=0)

    async def receive_until_cancelled() -> int:
        taken = 0

        async def receive_all() -> None:
            nonlocal taken
            while True:
                await port.receive_async()
                taken += 1

        task = asyncio.ensure_future(receive_all())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return taken

    assert 0 < asyncio.run(receive_until_cancelled()) < 1000


def test_a_second_task_that_receives_is_refused(lane: tuple[Port, LaneWriter]) -> None:
    """The first one goes on."""
    port, writer = lane

    async def receive_twice() -> list[bytes]:
        first = asyncio.ensure_future(bodies(port, 1))
        await asyncio.sleep(0)
        with pytest.raises(UsageError, match=r"Two tasks receive from the port of out at once"):
            await port.receive_async(0)
        writer.send(b"body", timeout=0)
        return await first

    assert asyncio.run(receive_twice()) == [b"body"]


def test_a_close_ends_the_receive_that_waits_in_a_loop(lane: tuple[Port, LaneWriter]) -> None:
    """From another task, or thread, of the process."""
    port, _ = lane

    async def close_meanwhile() -> None:
        task = asyncio.ensure_future(port.receive_async())
        await asyncio.sleep(0)
        port.close()
        with pytest.raises(PeerClosed, match=r"The port was closed\."):
            await task

    asyncio.run(close_meanwhile())


def test_a_dead_writer_is_told_in_a_loop_too(children: Zygote) -> None:
    """After everything that it had published."""
    with inbound("out", eventfd=True) as link:
        with children.fork("write", *link.fds["out"], count=9, then="exit"):
            assert len(asyncio.run(bodies(link.port, 9))) == 9
            with pytest.raises(PeerDied, match="The writer of lane 'out'"):
                asyncio.run(link.port.receive_async(30))


def test_a_port_without_an_eventfd_cannot_be_read_from_a_loop() -> None:
    """The sentence says how to make one that can."""
    port, _ = plain_port("out")
    with pytest.raises(UsageError, match=r"Create it with eventfd=os\.eventfd\(0, .*, or receive in a thread"):
        asyncio.run(port.receive_async(1))


def test_a_doorbell_is_opened_with_the_eventfd_that_it_was_created_with(eventfd: int) -> None:
    """A writer that would not ring it is refused, and so is one that would ring a stranger's."""
    for made, given in ((eventfd, None), (None, eventfd)):
        buffer = memoryview(bytearray(DOORBELL_BYTES))
        create_doorbell(rt=RT, buffer=buffer, eventfd=made)
        with pytest.raises(UsageError, match=r"Doorbell 'doorbell' rings (an|no) eventfd, and eventfd="):
            open_doorbell(rt=RT, buffer=buffer, eventfd=given)


class Note(msgspec.Struct, tag=True):
    """A message."""

    number: int


def test_a_receiver_is_iterated_until_every_sender_has_closed(lane: tuple[Port, LaneWriter]) -> None:
    """Structs arrive one after another; the close ends the loop, and an error in between is raised."""
    port, writer = lane
    receiver: PortReceiver[Note] = PortReceiver(port, Note)
    sender = LaneSender[Note](writer, timeout=0)
    sender.send(Note(0))
    writer.send(b"no envelope", timeout=0)
    sender.send(Note(1))
    sender.close()

    async def numbers() -> list[int]:
        return [delivery.message.number async for delivery in receiver]

    async def first() -> int:
        return (await receiver.receive_async()).message.number

    assert asyncio.run(first()) == 0
    with pytest.raises(FormatError):
        asyncio.run(first())
    assert asyncio.run(numbers()) == [1]
    assert asyncio.run(numbers()) == []


def test_a_reader_idle_for_seconds_uses_less_than_one_percent_of_a_core(children: Zygote) -> None:
    """In an event loop, after it was rung once, and in a thread; though both look for their peer ten times a second."""
    with inbound("out", eventfd=True) as link, ExitStack() as stack:

        async def be_rung_and_idle() -> None:
            ringing = asyncio.ensure_future(link.port.receive_async(30))
            await asyncio.sleep(0)
            stack.enter_context(children.fork("write", *link.fds["out"], count=1, then="pause"))
            await ringing
            with idle():
                await link.port.receive_async(1.5)

        asyncio.run(be_rung_and_idle())
        with idle():
            link.port.receive(1.5)


@contextmanager
def idle() -> Iterator[None]:
    """Wait for a time-out, at the cost of less than one percent of the time that it takes."""
    before, processor = time.monotonic(), time.thread_time()
    with pytest.raises(Timeout):
        yield
    assert time.thread_time() - processor < 0.01 * (time.monotonic() - before)
