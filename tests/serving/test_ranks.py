"""Several ranks in real processes: all compute, rank 0 announces, and what goes wrong on any of them is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import numpy as np
import pytest

from omni_ipc.errors import PeerFailed
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.hosted import STILL_IN_FLIGHT
from omni_ipc.serving.requests import Request
from omni_ipc.serving.spec import WorkerSpec
from tests.support.executors import executor_over

RANKED = WorkerSpec(pipeline="tests.serving.ranked:Ranked")


@pytest.fixture(scope="module")
def group() -> Iterator[HostGroup]:
    """Two processes, for all tests of this file."""
    with HostGroup(2) as group:
        yield group


@contextmanager
def ranked(group: HostGroup) -> Iterator[Executor]:
    """Run two workers; no fixture, because pytest would keep it beyond the check of what is left behind."""
    rt = NativeRuntime()
    workers = group.open(rt, RANKED)
    executor = executor_over(workers, rt)
    yield executor
    assert executor.shutdown()
    workers.join()


def outputs_of(executor: Executor, *requests: Request) -> list[object]:
    """Have requests computed in one forward."""
    executed = executor.execute(requests)
    return [executor.result(output, executor.wait(output)) for output in executed.outputs]


def test_rank_0_announces_what_all_have_computed(group: HostGroup) -> None:
    """Each was told its place; outputs come once, from the first."""
    with ranked(group) as executor:
        assert outputs_of(executor, Request("a"), Request("b")) == [{"rank": 0, "sum": 0}] * 2
        assert executor.call("place") == [[0, 2, "cpu", 0], [1, 2, "cpu", 0]]


@pytest.mark.parametrize("nbytes", [48 << 20, pytest.param(2 << 30, marks=pytest.mark.soak)])
def test_large_inputs_reach_every_rank_whole(group: HostGroup, nbytes: int) -> None:
    """One copy, into memory that all ranks read; it goes back once they have computed, however large."""
    with ranked(group) as executor:
        latents = np.zeros(nbytes, np.uint8)
        latents[:: 1 << 20] = 3
        total = 3 * (nbytes >> 20)
        for round_ in range(1, 4):
            asked = Request("a", inputs={"latents": latents})
            assert outputs_of(executor, asked) == [{"rank": 0, "sum": total}]
            assert executor.call("place") == [[rank, 2, "cpu", round_ * total] for rank in (0, 1)]


@pytest.mark.parametrize("fails", ["0", "1", "01"])
def test_each_rank_s_failure_is_told(group: HostGroup, fails: str) -> None:
    """Whichever failed is named with what it raised; the next forward works."""
    with ranked(group) as executor:
        with pytest.raises(PeerFailed) as raised:
            executor.execute([Request("a", options={"fails": fails})])
        assert [rank for rank in "01" if f"forward failed on {rank}" in str(raised.value)] == list(fails)
        assert outputs_of(executor, Request("a")) == [{"rank": 0, "sum": 0}]


def test_a_sleep_that_fails_on_one_rank_leaves_nobody_computing_until_all_are_awake(group: HostGroup) -> None:
    """One sleeps, one is in between: both say so; a wake brings both back."""
    with ranked(group) as executor:
        executor.call("fail_to_sleep", rank=1)
        with pytest.raises(PeerFailed, match="no memory"):
            executor.call("sleep", level=1)
        with pytest.raises(PeerFailed) as raised:
            executor.execute([Request("a")])
        assert "The pipeline sleeps at level 1" in str(raised.value)
        assert "neither asleep nor awake" in str(raised.value)
        executor.call("wake")
        assert outputs_of(executor, Request("a")) == [{"rank": 0, "sum": 0}]


def test_a_process_whose_device_is_stuck_ends_and_is_replaced() -> None:
    """The sleep is refused, the output's consumer told; no later worker shares the process with that thread."""
    rt = NativeRuntime()
    stuck = msgspec.structs.replace(RANKED, device="tests.support.held_device:HeldDevice", drain_timeout_s=0.05)
    with HostGroup(2) as group:
        workers = group.open(rt, stuck)
        before = group.pids
        executor = executor_over(workers, rt)
        (output,) = executor.execute([Request("a")]).outputs
        waiting = executor.wait(output)
        with pytest.raises(PeerFailed, match=r"sleep\(level=1\) was not done: 1 outputs \('1'\) were still in flight"):
            executor.call("sleep", level=1)
        executor.shutdown()
        with pytest.raises(PeerFailed, match="The worker was stopped: 1 outputs"):
            executor.result(output, waiting)
        with pytest.raises(PeerFailed, match="still in flight"):
            workers.join()
        assert [host._process.wait(30) for host in group._hosts] == [STILL_IN_FLIGHT] * 2
        with ranked(group) as executor:
            assert outputs_of(executor, Request("a")) == [{"rank": 0, "sum": 0}]
        assert not set(group.pids) & set(before)
