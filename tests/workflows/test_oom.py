"""Kills of the kernel's are noticed when its count rises, and forgotten after a while."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from omni_ipc.workflows.oom import OomKills


def test_a_rise_is_told_for_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With where it is counted; what had been killed before is none, and a rise that went by is forgotten."""
    now_s = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    vmstat = tmp_path / "proc/vmstat"
    vmstat.parent.mkdir()
    vmstat.write_text("oom_kill 4\n")
    kills = OomKills(tmp_path)
    assert kills.are_counted
    assert kills.lately() == ""
    vmstat.write_text("oom_kill 6\n")
    told = f"memory ran out, and the kernel killed for it: 'oom_kill' in {vmstat} rose by 2"
    assert kills.lately() == told
    now_s += 59.0
    assert kills.lately() == told
    now_s += 2.0
    assert kills.lately() == ""


def test_a_kernel_that_does_not_count_is_known_as_that(tmp_path: Path) -> None:
    """Then nobody knows who has killed a process; and what it counts from some moment on is nothing that has risen."""
    kills = OomKills(tmp_path)
    assert not kills.are_counted
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text("oom_kill 6\n")
    assert kills.lately() == ""
