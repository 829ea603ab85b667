"""The result pump: nothing that one message can do ends it, and what ends it leaves nothing pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from omni_ipc.errors import (
    FormatError,
    InternalError,
    LaneBroken,
    OmniError,
    PeerClosed,
    PeerDied,
    PeerFailed,
    ShutdownError,
    Timeout,
)
from omni_ipc.scenarios.links import Packet
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.messages import ComputeDone, OutputFailed, OutputReady, Reply
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending
from omni_ipc.serving.pump import ResultPump
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.layout import DOORBELL_BYTES, WRITE_POSITION
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.wire import RemoteError
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import plain_lane

RT = NativeRuntime()
WRONG = RemoteError.from_exception(ValueError("cannot travel"))


class Unpackable(Packet[Reply]):
    """A message whose tensors cannot be built."""

    def __str__(self) -> str:
        return f"{self.message}, unpackable"

    def unpack(self) -> Any:
        raise self._payload


class Played:
    """A link that gives what a test lists: replies, and errors to raise."""

    def __init__(self, *events: Packet[Reply] | Reply | BaseException, ranks: int = 1) -> None:
        self.results = self
        self.requests: Any = None
        self.ranks = ranks
        self.deaths: dict[int, OmniError] = {}
        self._events = list(events)

    def stopped(self, rank: int) -> None:
        """Tasks are not stopped by signals."""

    def death(self, rank: int) -> OmniError | None:
        return self.deaths.get(rank)

    def join(self) -> None: ...

    def receive(self, timeout: float) -> Any:
        event = self._events.pop(0) if self._events else PeerClosed("All have ended.")
        if isinstance(event, BaseException):
            raise event
        return event if isinstance(event, Packet) else Packet(event, "payload")

    def close(self) -> None: ...


class Pumped:
    """A pump over played events, and what it came to."""

    def __init__(
        self, link: Played, *, stopping: bool = False, poll_s: float = 0.0, pump: type[ResultPump] = ResultPump
    ) -> None:
        self.ends: list[OmniError] = []
        self.table = OutputTable(rt=RT)
        self.pump = pump(rt=RT, link=link, table=self.table, poll_s=poll_s, end=self._end)
        if stopping:
            self.pump.expect_end()

    def _end(self, reason: OmniError) -> None:
        self.ends.append(reason)
        self.table.close(reason)


# What one message can do


def unpack_raises(error: BaseException) -> list[Packet[Reply] | Reply | BaseException]:
    return [Unpackable(OutputReady("1", split=False), error)]


BAD: dict[str, tuple[list[Packet[Reply] | Reply | BaseException], str]] = {
    "an output whose bytes disagree": (unpack_raises(FormatError("tensors: 1 of 2")), "tensors: 1 of 2"),
    "an output that makes the unpacking raise": (unpack_raises(KeyError("leaf")), r"could not be handled: KeyError\("),
    "an output that failed": ([OutputFailed("1", False, WRONG)], "cannot travel"),
    "a batch of one that failed in part": ([OutputReady("2", True, {0: WRONG})], "cannot travel"),
    "a batch that is no list": (
        [Packet(OutputReady("2", True), 7)],
        "returned a value of type int for a batch of 1 requests",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_message_costs_its_own_output_and_no_other(name: str) -> None:
    """Whoever waits for it learns why; the next output arrives."""
    events, told = BAD[name]
    if name.startswith("a batch of one"):
        events = [Packet(events[0], [None])]  # type: ignore[arg-type]
    played = Pumped(Played(*events, OutputReady("3", split=False)), stopping=True)
    table = played.table
    single, batch, other = table.mint(), table.mint_batch(1), table.mint()
    table.expect_batch(batch.output, batch.outputs)
    waiting = table.wait(batch.outputs[0] if "batch" in name else single.output)
    alive = table.wait(other.output)
    played.pump.run()
    with pytest.raises(OmniError, match=told):
        waiting.result(0)
    assert alive.result(0) == "payload"
    assert isinstance(played.ends[0], ShutdownError)


@pytest.mark.parametrize(
    "event",
    [
        FormatError("A message of 7 bytes is no Reply"),
        PeerFailed("The writer of lane 'worker.main' failed"),
        OutputReady("99", split=True),
        OutputReady("what is this?", split=False),
        ComputeDone(7, 1, 0, 0.0),
        ComputeDone(1, 9, 0, 0.0),
        ComputeDone(1, 1, 5, 0.0),
        Unpackable(OutputReady("99", split=False), RuntimeError("no such shape")),
    ],
    ids=str,
)
def test_a_message_that_concerns_nobody_is_passed_over(event: Reply | BaseException) -> None:
    """One that cannot be read, or that is about nothing which is awaited; the next one arrives."""
    played = Pumped(Played(event, OutputReady("1", split=False)), stopping=True)
    call = played.table.expect_rpc(1)
    alive = played.table.wait(played.table.mint().output)
    played.pump.run()
    assert alive.result(0) == "payload"
    with pytest.raises(ShutdownError):
        call.decided.result(0)
    assert played.table.describe() == Pending()


def test_an_output_of_a_cancelled_waiter_passes_the_pump() -> None:
    """The one behind it arrives."""
    played = Pumped(Played(OutputReady("1", split=False), OutputReady("2", split=False)), stopping=True)
    cancelled, alive = (played.table.wait(played.table.mint().output) for _ in range(2))
    cancelled.cancel()
    played.pump.run()
    assert alive.result(0) == "payload"


# What ends it


def dies(link: Played) -> None:
    link.deaths[0] = PeerDied("The worker process 7", "killed by SIGKILL")


@pytest.mark.parametrize(
    ("event", "kind", "told"),
    [
        (LaneBroken("Lane 'worker.main', record 3, sequence: found 5."), LaneBroken, "record 3"),
        (PeerClosed("All have ended."), PeerClosed, "ended without being asked to"),
        (RuntimeError("no memory"), InternalError, "The result pump died of RuntimeError: no memory"),
        (MemoryError(), InternalError, "died of MemoryError"),
    ],
)
def test_what_ends_the_pump_fails_whatever_is_pending(event: BaseException, kind: type[OmniError], told: str) -> None:
    """Calls and waits, those of now and those of later; and it is told once."""
    played = Pumped(Played(event))
    call, waiting = played.table.expect_rpc(1), played.table.wait(played.table.mint().output)
    played.pump.run()
    for future in (call.decided, waiting):
        with pytest.raises(kind, match=told):
            future.result(0)
    with pytest.raises(kind, match=told):
        played.table.mint()
    played.pump.turn(0.0)
    assert played.ends == [played.pump.ended], "and nothing is taken behind the end"


def test_a_pump_that_is_ended_from_outside_leaves_nothing_pending() -> None:
    """By what is no `Exception`, too, which goes on its way."""
    played = Pumped(Played(SystemExit(1)))
    waiting = played.table.wait(played.table.mint().output)
    with pytest.raises(SystemExit):
        played.pump.run()
    with pytest.raises(InternalError, match="ended from outside"):
        waiting.result(0)


def test_a_death_is_told_with_its_signal_once_nothing_more_comes() -> None:
    """What the worker had published before is delivered."""
    link = Played(OutputReady("1", split=False), Timeout("Nothing came."))
    played = Pumped(link)
    delivered, pending = (played.table.wait(played.table.mint().output) for _ in range(2))
    dies(link)
    played.pump.run()
    assert delivered.result(0) == "payload"
    with pytest.raises(PeerDied, match="killed by SIGKILL"):
        pending.result(0)


def test_what_was_published_between_the_last_look_and_the_death_is_delivered() -> None:
    """The look that finds the dead worker comes behind a wait in which nothing came."""
    link = Played(Timeout("Nothing came."), OutputReady("1", split=False), Timeout("Nothing came."))
    played = Pumped(link, poll_s=60.0)
    delivered = played.table.wait(played.table.mint().output)
    dies(link)
    played.pump.run()
    assert delivered.result(0) == "payload"
    assert isinstance(played.pump.ended, PeerDied)


def test_a_death_of_one_rank_is_not_hidden_by_the_talk_of_another() -> None:
    """Its lane has told of it; the other rank goes on and on, and all the same everything pending fails."""
    chatter = [OutputReady("99", split=False) for _ in range(1000)]
    link = Played(PeerDied("The writer of lane 'worker-1.main'", "it is gone"), *chatter, ranks=2)
    link.deaths[1] = PeerDied("The worker process 7", "killed by SIGKILL")
    played = Pumped(link)
    played.pump.run()
    assert "SIGKILL" in str(played.pump.ended)
    assert link._events, "it did not hear the other one out"


@pytest.mark.parametrize("end", [dies, lambda link: None], ids=["with a status", "without"])
def test_lanes_of_the_dead_are_read_to_their_end(end: Callable[[Played], None]) -> None:
    """The last of them is closed in good order, and yet the reason is the death."""
    link = Played(PeerDied("The writer of lane 'worker.main'", "it is gone"), PeerClosed("All have ended."))
    played = Pumped(link, stopping=True, poll_s=60.0)
    end(link)
    played.pump.run()
    assert isinstance(played.pump.ended, PeerDied)


class Restless(ResultPump):
    """Cannot even refuse what it could not handle."""

    def _refuse(self, reply: Reply, error: OmniError) -> None:
        raise RuntimeError("twice")


def test_a_fault_of_its_own_ends_it_loudly() -> None:
    """It does not go on with a table that may be half changed."""
    played = Pumped(Played(Unpackable(OutputReady("1", split=False), KeyError("leaf"))), pump=Restless)
    waiting = played.table.wait(played.table.mint().output)
    played.pump.run()
    with pytest.raises(InternalError, match="died of RuntimeError: twice"):
        waiting.result(0)


# Over a real lane


def test_a_message_of_another_kind_on_a_real_lane_costs_itself_alone() -> None:
    """And a lane whose bytes are broken ends the pump: nothing behind them can be trusted."""
    lane = plain_lane()
    bell = create_doorbell(rt=RT, buffer=memoryview(bytearray(DOORBELL_BYTES)))
    writer = LaneWriter(lane, doorbell=bell)
    link = Played()
    link.results = PortReceiver(Port(rt=RT, lanes=[LaneReader(lane)], doorbell=bell), Reply)  # type: ignore[assignment]
    played = Pumped(link)
    first, second = (played.table.wait(played.table.mint().output) for _ in range(2))
    writer.send(b"what is this?", timeout=1)
    sender: LaneSender[Reply] = LaneSender(writer, timeout=1)
    sender.send(OutputReady("1", split=False), "payload")
    played.pump.turn(1.0)
    played.pump.turn(1.0)
    assert first.result(0) == "payload"
    assert played.pump.bad_messages == 1
    position = lane.words.load(WRITE_POSITION)
    sender.send(OutputReady("2", split=False), "payload")
    lane.write(position, bytes([255] * 32))
    played.pump.turn(1.0)
    with pytest.raises(LaneBroken, match="Lane 'out', record 2"):
        second.result(0)
