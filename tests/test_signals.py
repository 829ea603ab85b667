"""What signals are called."""

from __future__ import annotations

import signal

from omni_ipc.signals import name_of


def test_every_signal_that_can_end_a_process_is_named() -> None:
    """Those of real time, and the two that the C library keeps for itself, by their number."""
    named = [name_of(number) for number in (signal.SIGKILL, 32, 35, 40, signal.SIGRTMAX)]
    assert named == ["SIGKILL", "signal 32", "signal 35", "signal 40", "SIGRTMAX"]
