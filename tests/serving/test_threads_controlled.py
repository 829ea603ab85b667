"""Pump and output thread alone, under the testbed: they end in every order, in bounded time, and are counted."""

from __future__ import annotations

import queue
from types import SimpleNamespace
from typing import Any, cast

import pytest

from omni_ipc.device.host import HostDevice
from omni_ipc.errors import Aborted, FormatError, Full, OmniError, PeerClosed, PeerDied, ShutdownError, Timeout
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.serving import factory
from omni_ipc.serving.announcer import Announcer
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.messages import Execute
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pump import ResultPump
from omni_ipc.serving.pumping import InlinePump
from omni_ipc.serving.spec import MOST_BYTES, SEND_TIMEOUT_S
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from tests.serving.exhausting import exhaust
from tests.support.slabs import Shop

POLL_S = 0.5
DIED = PeerDied("The worker process 7", "killed by SIGKILL")


class Said:
    """A link to a worker that says what a test lets it say, and otherwise nothing."""

    def __init__(self, rt: Runtime) -> None:
        self.results, self.ranks = self, 1
        self.died: OmniError | None = None
        self.events = rt.queue()

    def death(self, rank: int) -> OmniError | None:
        return self.died

    def receive(self, timeout: float) -> Any:
        try:
            event = self.events.get(timeout=timeout)
        except queue.Empty:
            raise Timeout("Nothing came.") from None
        raise event


class Pumped:
    """A pump, in a task of its own unless others turn it, and an output that somebody waits for."""

    def __init__(self, rt: Runtime, *, inline: bool = False) -> None:
        self.link, self.ends = Said(rt), list[OmniError]()
        self.table = OutputTable(rt=rt)
        self.output = self.table.mint().output
        self.awaited = self.table.wait(self.output)
        link = cast("Any", self.link)
        self.pump = ResultPump(rt=rt, link=link, table=self.table, poll_s=POLL_S, end=self._end)
        if not inline:
            self.task = rt.spawn(self._run, name="pump")

    def _run(self) -> None:
        try:
            self.pump.run()
        except SystemExit:
            return

    def _end(self, reason: OmniError) -> None:
        self.ends.append(reason)
        self.table.close(reason)


def test_a_pump_meets_a_death_in_bounded_time_though_nothing_is_said() -> None:
    """It looks after its workers whenever nothing comes, and whoever waits is told."""

    def scenario(rt: ControlledRuntime) -> None:
        pumped = Pumped(rt)
        rt.sleep(1.2 * POLL_S)
        pumped.link.died = DIED
        assert pumped.awaited.exception(10 * POLL_S) is DIED
        pumped.task.join()
        assert (pumped.ends, rt.now() <= 5 * POLL_S) == ([DIED], True)

    exhaust(scenario)


def test_what_a_pump_cannot_read_is_counted_and_costs_nothing_else() -> None:
    """The goodbye behind it is heard."""

    def scenario(rt: ControlledRuntime) -> None:
        pumped = Pumped(rt)
        pumped.pump.expect_end()
        for event in (FormatError("bytes disagree"), PeerClosed("All have ended.")):
            pumped.link.events.put(event)
        assert isinstance(pumped.awaited.exception(10 * POLL_S), ShutdownError)
        pumped.task.join()
        assert pumped.pump.bad_messages == 1

    exhaust(scenario)


def test_a_pump_that_is_ended_from_outside_leaves_nobody_waiting() -> None:
    """Whatever ends its thread: the reason is told."""

    def scenario(rt: ControlledRuntime) -> None:
        pumped = Pumped(rt)
        pumped.link.events.put(SystemExit())
        assert "ended from outside" in str(pumped.awaited.exception(10 * POLL_S))
        pumped.task.join()
        assert len(pumped.ends) == 1

    exhaust(scenario)


def test_whoever_turns_the_pump_turns_it_until_what_it_waits_for_is_there() -> None:
    """However many turns bring nothing; and a shutdown waits for the goodbye in the same way."""

    def scenario(rt: ControlledRuntime) -> None:
        pumped = Pumped(rt, inline=True)
        inline = InlinePump(rt=rt, pump=pumped.pump, config=ServingConfig(poll_s=POLL_S))

        def work() -> None:
            rt.sleep(3.5 * POLL_S)
            pumped.table.drop(pumped.output)
            rt.sleep(3.5 * POLL_S)
            pumped.link.events.put(PeerClosed("All have ended."))

        worker = rt.spawn(work, name="worker")
        with pytest.raises(Aborted):
            inline.wait(pumped.awaited, 10 * POLL_S)
        assert inline.finish(10 * POLL_S)
        worker.join()

    exhaust(scenario)


@pytest.mark.parametrize("goodbye", [True, False])
def test_an_output_thread_says_goodbye_if_it_shall(goodbye: bool) -> None:
    """A worker that fails says none: the engine would take its end for a good one."""

    def scenario(rt: ControlledRuntime) -> bool:
        closed: list[bool] = []
        lane = cast("Any", SimpleNamespace(close=lambda: closed.append(True)))
        announcer = Announcer(rt=rt, lane=lane, device=HostDevice())
        thread = rt.spawn(announcer.run, _fail, name="output")
        announcer.finish(goodbye=goodbye)
        thread.join()
        return bool(closed)

    report = explore(scenario, instrument=["omni_ipc.serving.announcer"])
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, (str(goodbye),)), report.reason


def test_a_worker_waits_for_room_as_long_as_it_is_told_to() -> None:
    """The engine has stopped to read, and lives."""

    def scenario(rt: ControlledRuntime) -> None:
        memory, shop = memoryview(bytearray(lane_bytes(256))), Shop(rt=rt)
        Lane.create(rt=rt, buffer=memory, name="replies", max_message_bytes=MOST_BYTES)
        bell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        sender = factory._sender(rt, cast("Any", SimpleNamespace(view=memory)), "replies", bell, shop.slab)

        def work() -> None:
            with pytest.raises(Full):
                sender.send(Execute(1, 1, "x" * 300, (), split=False))

        rt.spawn(work, name="worker").join()
        assert rt.now() <= 2 * SEND_TIMEOUT_S

    exhaust(scenario)


def _fail(error: BaseException) -> None:
    raise AssertionError("the output thread has failed") from error
