"""The output thread on its own: what it says when the lane has no room, or no reader."""

from __future__ import annotations

from typing import Any

import numpy as np

from omni_ipc.device.host import HostDevice
from omni_ipc.errors import Full, OmniError, PeerDied
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.announcer import Announcer, Computed
from omni_ipc.serving.messages import Execute, OutputFailed, OutputReady, Reply
from omni_ipc.serving.requests import Request
from omni_ipc.serving.returned import Outputs

RT = NativeRuntime()


class Crowded:
    """A sending end that meets trouble first, one error a call."""

    def __init__(self, *trouble: OmniError) -> None:
        self._trouble = list(trouble)
        self.said: list[Reply] = []
        self.closed = False

    def send(self, message: Reply, payload: Any = None) -> None:
        self._meet_trouble()
        self.said.append(message)

    def close(self) -> None:
        self._meet_trouble()
        self.closed = True

    def _meet_trouble(self) -> None:
        if self._trouble:
            raise self._trouble.pop(0)


def announced(lane: Crowded, *outputs: str) -> Announcer:
    """Announce outputs on a lane, to the end."""
    device = HostDevice()
    announcer = Announcer(rt=RT, lane=lane, device=device)
    for number, output in enumerate(outputs):
        job = Execute(number, 1, output, (Request("a"),), split=False)
        announcer.hand_over(Computed(job, Outputs([np.zeros(1)], {}), device.record()))
    announcer.finish()
    failures: list[BaseException] = []
    announcer.run(failures.append)
    assert failures == []
    return announcer


def test_an_output_that_finds_no_room_in_time_is_told_as_failed_however_long_that_takes() -> None:
    """The failure waits for room as long as somebody reads; the next output is announced as ever."""
    lane = Crowded(*[Full("no room")] * 4)
    announcer = announced(lane, "1", "2")
    assert [type(said) for said in lane.said] == [OutputFailed, OutputReady]
    assert [said.output for said in lane.said] == ["1", "2"]  # type: ignore[union-attr]
    assert announcer.in_flight.drain(0) == ()
    assert lane.closed


def test_nobody_is_told_where_nobody_is_left() -> None:
    """The thread goes on to its end, and counts off what it could not bring."""
    lane = Crowded(*[PeerDied("The reader", "killed by SIGKILL")] * 3)
    announcer = announced(lane, "1")
    assert (lane.said, lane.closed) == ([], False)
    assert announcer.in_flight.drain(0) == ()
    announcer.require_alive()
