"""Looks at a peer under the testbed: the kernel may have no descriptor for one at each of its steps, or no process."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.testbed.faults import Hook
from omni_ipc.transport import liveness
from omni_ipc.transport.layout import Signature
from tests.support.sockets import descriptors

EMPTY, GONE = "no descriptor is left", "the process has gone"


def failing(rt: ControlledRuntime, call: Callable[..., Any], faults: dict[str, int]) -> Callable[..., Any]:
    """Let a call of the kernel fail, where the exploration says so."""

    def called(*args: Any) -> Any:
        for fault, number in faults.items():
            if rt.fault(fault):
                raise OSError(number, os.strerror(number))
        return call(*args)

    return called


def test_a_peer_that_lives_is_dead_for_nobody_who_has_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not known then; one that the kernel knows no more is gone. No look keeps a descriptor."""
    liveness.this_process()  # asked once a process, and not in the first run alone
    parent = os.getppid()
    peer, opening, start_time = Signature(parent, liveness.start_time(parent) or 0), os.pidfd_open, liveness.start_time

    def scenario(rt: ControlledRuntime) -> int:
        opened = failing(rt, opening, {EMPTY: errno.EMFILE, GONE: errno.ESRCH})
        monkeypatch.setattr(liveness, "os", SimpleNamespace(**{**vars(os), "pidfd_open": opened}))
        monkeypatch.setattr(liveness, "start_time", failing(rt, start_time, {EMPTY: errno.ENFILE}))
        monkeypatch.setattr(liveness, "has_ended", lambda pidfd: False)
        before, seen = descriptors(), list[str | None]()
        looks = [rt.spawn(lambda: seen.append(liveness.ending(peer)), name=f"look {number}") for number in range(2)]
        for look in looks:
            look.join()
        assert descriptors() == before
        assert set(seen) <= {None, liveness._GONE}
        return seen.count(None)

    report = explore(scenario, strategy="dpor", declared=True, faults=[Hook(EMPTY), Hook(GONE)])
    assert (report.failure, report.verdict) == (None, Verdict.HOLDS), report.reason
    assert set(report.outcomes) == {"1", "2"}, "of two looks, at most one met a process that has gone"
