"""A soak of an engine with a field defect finds it, and cuts it down to a trace that replays under control."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from omni_ipc.accounts import Account
from omni_ipc.records import Trace, Verdict
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows.replaying import replay
from omni_ipc.workflows.soaking import soak
from tests.workflows.violations import DEFECTS


@pytest.mark.soak
@pytest.mark.timeout(400)
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_soak_finds_a_defect_and_saves_a_trace_of_it(defect: str, tmp_path: Path) -> None:
    """Which scenario it is, nobody has told it; it is interrupted once there is a trace."""

    accounts: list[Account] = []

    def look(account: Account) -> None:
        accounts.append(account)
        if any(finding.trace for finding in account.findings):
            raise KeyboardInterrupt

    config = SoakConfig(
        seconds=200.0, folder=str(tmp_path), defect=defect, faults=(), memory_bytes=1 << 30, clients=16, round_s=3.0
    )
    with contextlib.suppress(KeyboardInterrupt):
        soak(config, on_sample=look)
    assert accounts[-1].verdict is Verdict.VIOLATED
    trace, *_ = [finding.trace for finding in accounts[-1].findings if finding.trace]
    assert replay(Trace.load(Path(trace)), defect=defect).verdict is Verdict.VIOLATED
