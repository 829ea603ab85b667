"""Calls that meet a stop under the testbed: nothing is sent behind it, and nobody waits longer than was said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from omni_ipc.errors import OmniError, ShutdownError
from omni_ipc.seam.api import Event, Runtime
from omni_ipc.serving.caller import Caller
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.messages import Call, Stop
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pump import ResultPump
from omni_ipc.serving.pumping import PumpTask
from omni_ipc.testbed import explore
from tests.serving.exhausting import exhaust

CONFIG = ServingConfig(rpc_timeout_s=5.0, shutdown_timeout_s=1.0)
CLOSED = "closed"


class World:
    """A caller, and what it has sent; a call's way out may be stuck for as long as an event is not set."""

    def __init__(self, rt: Runtime, stuck: Event | None = None) -> None:
        self.said: list[object] = []
        self._stuck = stuck
        link: Any = SimpleNamespace(requests=self, results=None, ranks=1)
        self.table = OutputTable(rt=rt)
        pump = ResultPump(rt=rt, link=link, table=self.table, poll_s=1.0, end=self.table.close)
        pumping = PumpTask(rt=rt, pump=pump, config=CONFIG)
        self.caller = Caller(rt=rt, link=link, table=self.table, config=CONFIG, pumping=pumping)

    def send(self, message: object, payload: object = None) -> None:
        if self._stuck is not None:
            self._stuck.wait()
        self.said.append(type(message))

    def close(self) -> None:
        self.said.append(CLOSED)

    def call(self) -> str:
        """Call what nobody answers, and tell how that ended."""
        try:
            self.caller.ask(lambda rpc: Call(rpc, 1, "echo"), "")
        except OmniError as error:
            return type(error).__name__
        return "answered"


def test_nothing_is_sent_behind_a_stop_and_it_is_said_once() -> None:
    """A call comes before it, or is refused; whoever stops again finds that it was done."""
    seen = set[str]()

    def scenario(rt: Runtime) -> None:
        world = World(rt)
        calling = rt.spawn(lambda: seen.add(world.call()), name="caller")
        assert world.caller.stop()
        assert world.caller.stop()
        assert world.caller.await_senders(1.0)
        assert world.caller.await_senders(1.0)
        assert rt.now() == 0, "somebody waited for what was there"
        calling.join()
        assert world.said in ([Stop, CLOSED], [Call, Stop, CLOSED])
        assert world.table.describe().rpcs == ()
        with pytest.raises(ShutdownError):
            world.caller.ask(lambda rpc: Call(rpc, 1, "echo"), "")

    report = explore(scenario, instrument=["omni_ipc.serving.caller"], runs=300)
    assert report.failure is None, report.failure
    assert seen == {"Timeout", "ShutdownError"}


def test_a_stop_waits_for_who_is_stuck_no_longer_than_was_said() -> None:
    """So does whoever waits for the senders behind it."""

    def scenario(rt: Runtime) -> None:
        gate = rt.event()
        world = World(rt, gate)
        calling = rt.spawn(world.call, name="caller")
        rt.sleep(1.0)
        assert not world.caller.stop()
        assert not world.caller.await_senders(2.0)
        assert rt.now() == 1.0 + CONFIG.shutdown_timeout_s + 2.0
        gate.set()
        calling.join()
        assert world.said == [Call]

    exhaust(scenario)
