"""The commands of a stream that is a task."""

from __future__ import annotations

import pytest

from omni_ipc.seam.native import NativeRuntime
from omni_ipc.stress.devices.commands import Commands, at_once


def test_commands_are_done_in_their_order_and_before_the_stream_is_closed() -> None:
    """Whoever waits for the last one has waited for all."""
    done: list[int] = []
    commands = Commands(NativeRuntime(), "device.side")
    waits = [commands.issue("copy", lambda number=number: done.append(number)) for number in range(20)]  # type: ignore[misc]
    waits[-1].result()
    assert done == list(range(20))
    commands.issue("reach", lambda: done.append(20))
    commands.close()
    assert done[-1] == 20


def test_what_comes_after_a_command_that_failed_has_failed_too() -> None:
    """As on a real device: the error is told by whatever is waited for next, and the stream goes on to its end."""
    commands = Commands(NativeRuntime(), "device.side")
    failed = commands.issue("copy", lambda: 1 / 0)
    behind = commands.issue("reach", at_once)
    for wait in (failed, behind):
        with pytest.raises(ZeroDivisionError):
            wait.result()
    commands.close()


def test_what_is_issued_to_a_closed_stream_is_never_done() -> None:
    """A tensor may be dropped when its device is gone: nothing is left to be given back to."""
    done: list[int] = []
    commands = Commands(NativeRuntime(), "device.side")
    commands.close()
    assert commands.issue("give", lambda: done.append(1)).cancelled()
    commands.close()
    assert done == []
