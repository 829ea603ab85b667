"""What a process keeps of its device's memory is seen from outside, for as long as it lives."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing

import pytest

from omni_ipc.stress.gauge import Gauge
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.leftovers import held, sample

_SHOWS = "from omni_ipc.stress.gauge import Gauge; Gauge().show(3 << 40); print('shown', flush=True); input()"


def test_what_another_process_shows_is_in_a_sample_while_it_lives() -> None:
    """However much it is, it takes nothing of the host; who shows nothing has no entry, and nor has the dead."""
    with (
        subprocess.Popen([sys.executable, "-c", _SHOWS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker,
        closing(Ledger.create()) as ledger,
    ):
        assert worker.stdin is not None
        assert worker.stdout is not None
        processes = {"engine": os.getpid(), "worker 0": worker.pid}
        assert worker.stdout.readline() == b"shown\n"
        seen = sample(0.0, processes, ledger)
        worker.kill()
        worker.wait()
        assert sample(1.0, processes, ledger).device == {}
    assert seen.device == {"worker 0": 3 << 40}
    assert seen.taken < 1 << 40


def test_what_is_shown_last_counts_and_its_descriptor_is_no_file_of_the_process() -> None:
    """Else it would be told as a leftover of the first round that showed something."""
    with closing(Gauge()) as gauge:
        before = held(os.getpid())
        gauge.show(7)
        gauge.show(5)
        shown = held(os.getpid())
    after = held(os.getpid())
    assert before is not None
    assert shown is not None
    assert after is not None
    assert (before.device, shown.device, after.device) == (None, 5, None)
    assert before.files == shown.files


def test_without_a_descriptor_nothing_is_shown_and_nobody_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A soak takes them from its workers on purpose."""

    def refuse(_: str) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", refuse)
    with closing(Gauge()) as gauge:
        gauge.show(5)
        found = held(os.getpid())
    assert found is not None
    assert found.device is None
