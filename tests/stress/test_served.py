"""The process of engine and clients: what it does between two rounds."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
from types import SimpleNamespace
from typing import cast

import pytest

from omni_ipc.serving.group import HostGroup
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.messages import Teller
from omni_ipc.stress.plans import room
from omni_ipc.stress.rounds import Around
from omni_ipc.stress.served import Serving
from omni_ipc.stress.settings import SoakConfig

LOST = "PeerFailed: The worker failed: AcceleratorError: CUDA error: an illegal memory access was encountered"
NO_ROOM = "PeerFailed: The worker failed: AcceleratorError: CUDA error: out of memory"


@pytest.mark.parametrize(
    ("device", "told", "ended"),
    [("cuda:0", LOST, True), ("cuda:0", NO_ROOM, False), ("cuda:0", "Timeout: late", False), ("cpu", LOST, False)],
)
def test_a_worker_s_process_to_which_its_device_is_lost_is_ended(device: str, told: str, ended: bool) -> None:
    """CUDA answers nothing any more in that process, and would in the next one; what had no room is as it was."""
    config = SoakConfig(seconds=1.0, device=device)
    with contextlib.closing(Ledger.create()) as ledger, subprocess.Popen(["sleep", "60"]) as worker:
        serving = Serving(Around(config, room(config), ledger, Teller(2), threading.Event()))
        serving._end_lost(cast("HostGroup", SimpleNamespace(pids=(worker.pid,))), ["Timeout: late", told])
        if not ended:
            assert worker.poll() is None
            worker.terminate()
        assert worker.wait() == (-signal.SIGKILL if ended else -signal.SIGTERM)
