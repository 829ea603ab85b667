"""Several worker processes of one engine: opened together, told together, and replaced when one has died."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from omni_ipc.errors import PeerDied, PeerFailed, UsageError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.requests import Request
from omni_ipc.serving.spec import WorkerSpec
from tests.support.executors import executor_over
from tests.support.lanes import RT

CHOOSY = WorkerSpec(pipeline="tests.serving.pipelines:Choosy")


@pytest.fixture
def group() -> Iterator[HostGroup]:
    with HostGroup(2) as group:
        yield group


def serve(group: HostGroup) -> list[list[int]]:
    """Open workers, have a batch computed, end them in good order; with a runtime of its own, as recordings want it."""
    rt = NativeRuntime()
    workers = group.open(rt, CHOOSY)
    executor = executor_over(workers, rt)
    executed = executor.execute([Request("x"), Request("yy")])
    values = [executor.result(output, executor.wait(output)).tolist() for output in executed.outputs]
    assert executor.shutdown()
    workers.join()
    return values


def test_every_rank_computes_and_the_processes_serve_again_afterwards(group: HostGroup) -> None:
    """Three engines in a row on two processes, each with lanes of its own."""
    pids = group.pids
    for _ in range(3):
        assert serve(group) == [[1, 1, 1], [2, 2, 2]]
    assert group.pids == pids


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_died_is_told_and_replaced(group: HostGroup, rank: int) -> None:
    """Its signal is named, whichever it was; the next engine has a fresh process in its place, and works."""
    workers = group.open(RT, CHOOSY)
    before = group.pids
    os.kill(before[rank], signal.SIGKILL)
    executor = executor_over(workers)
    with pytest.raises(PeerDied, match="killed by SIGKILL"):
        executor.execute([Request("x")])
    assert workers.death(rank) is not None
    assert workers.death(1 - rank) is None
    executor.shutdown()
    workers.kill()
    workers.kill()
    assert serve(group) == [[1, 1, 1], [2, 2, 2]]
    assert group.pids[rank] != before[rank]


def test_what_cannot_be_built_on_one_rank_leaves_none_of_the_others_behind(group: HostGroup) -> None:
    """The error is that rank's; the next engine works."""
    spec = WorkerSpec(pipeline="tests.serving.pipelines:OnlyOnRankZero")
    with pytest.raises(PeerFailed, match="rank 1 has no weights"):
        group.open(RT, spec)
    assert serve(group) == [[1, 1, 1], [2, 2, 2]]


def test_an_engine_without_workers_is_refused() -> None:
    """Before any process starts."""
    with pytest.raises(UsageError, match=r"0 workers cannot compute anything\. Give ranks=1 or more\."):
        HostGroup(0)
