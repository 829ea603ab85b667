"""Whole commands on a Ray of two nodes, of which one loses its worker: one report, and nothing is missing."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from omni_ipc import shards
from omni_ipc.records import Report
from omni_ipc.workflows.soak_sharding import LOST
from tests.machines.cluster import Ray, running
from tests.support.commands import Command, Ended
from tests.support.waiting import until

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'omni-ipc[ray]'"
    ),
]

_PATIENCE_S = 300.0


@pytest.fixture(scope="module")
def ray() -> Iterator[Ray]:
    """Two nodes of one core."""
    with running() as ray:
        yield ray


def children(name: str) -> dict[int, int]:
    """Give the processes of a program: id -> that of the process that started it."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"-m\0{name}\0" in (folder / "cmdline").read_text():
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
    return found


def seats(program: str) -> set[int]:
    """Give the workers of Ray that started this program, not counting processes that it has forked itself."""
    found = children(program)
    return {starter for starter in found.values() if starter not in found}


def ended_without_a_seat(command: Command, program: str) -> Ended:
    """Kill the worker of the first node that runs the program, and wait for the end of all.

    Both need not run it at a time: on a busy machine one may have ended before the other begins.
    """
    until(lambda: seats(program), seconds=_PATIENCE_S)
    os.kill(min(seats(program)), signal.SIGKILL)
    ended = command.end(timeout_s=_PATIENCE_S)
    until(lambda: not children(program))
    return ended


def test_an_exploration_whose_node_loses_its_worker_is_whole(ray: Ray, tmp_path: Path) -> None:
    """Each run is counted once."""
    words = "explore", "split_map", "--strategy", "random", "--runs", "12000", "--json", "report.json"
    with Command(*words, "--on", ray.name, cwd=tmp_path) as command:
        ended = ended_without_a_seat(command, "omni_ipc.testbed.job")
    assert (ended.code, ended.survivors) == (0, []), ended.err
    document = msgspec.json.decode((tmp_path / "report.json").read_bytes())
    assert msgspec.convert(document["result"], Report).schedules == 12_000


@pytest.mark.torch
def test_a_soak_whose_node_loses_its_worker_is_whole(ray: Ray, tmp_path: Path) -> None:
    """One account of both, in which that is a fault survived; the node keeps nothing."""
    words = "stress", "soak", "--minutes", "0.3", "--workers", "1", "--memory", "1", "--faults", "none", "--no-record"
    with Command(*words, "--out", "out", "--on", ray.name, cwd=tmp_path) as command:
        ended = ended_without_a_seat(command, "omni_ipc.workflows.soak_shard")
    account = shards.read(tmp_path / "out")
    assert [fault.fault for fault in account.faults] == [LOST], ended.err
    assert (account.interrupted, account.workers) == ("", 2)
    assert set(shards.shards_in(tmp_path / "out")) == {"shard-0", "shard-1"}


def test_ctrl_c_ends_what_runs_on_nodes(ray: Ray, tmp_path: Path) -> None:
    """And says so."""
    words = ("split_map", "--strategy", "random", "--seconds", "300")  # which does not end before
    with Command("explore", *words, "--on", ray.name, cwd=tmp_path) as command:
        command.interrupt_when(lambda: bool(seats("omni_ipc.testbed.job")))
        ended = command.end()
    assert ended.code == 3
    assert "Interrupted: nothing was concluded" in ended.err
    until(lambda: not children("omni_ipc.testbed.job"))


def test_a_ray_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With the command that starts one."""
    with Command("explore", "split_map", "--on", "ray://127.0.0.1:9", cwd=tmp_path) as command:
        ended = command.end()
    assert ended.code == 2
    assert "ray://127.0.0.1:9 cannot be reached" in ended.err
    assert "ray start --head" in ended.err
