"""The hosts of all ranks under the testbed, each process a task: opened, killed, replaced and ended, in any order."""

from __future__ import annotations

import contextlib
import os
import queue
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from omni_ipc.errors import OmniError, PeerDied, PeerFailed, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving import group
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.lanes import Lanes
from omni_ipc.serving.spec import Answer, Ended, Opened, WorkerSpec
from omni_ipc.serving.workers import HostedWorkers
from omni_ipc.transport.geometry import SlotClass
from tests.serving.exhausting import sample

TIMEOUT_S = 5.0
GRACE_S = 2.0
BUSY_S = 100.0  # longer than anybody waits
FINE, BUSY, REFUSED = "fine", "busy", "refused on rank 1"


class TaskHost:
    """A process of one rank as a task, which runs one worker after another, until it is let go, or killed."""

    def __init__(self, rt: Runtime, number: int, timeout_s: float) -> None:
        self.pid, self.timeout_s = number, timeout_s
        self._orders, self._answers = rt.queue(), rt.queue()
        self._killed = rt.event()
        self._serving = False
        self._task = rt.spawn(self._run, name=f"process {number}")

    def __enter__(self) -> TaskHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        while (order := self._orders.get()) is not None and not self._killed.is_set():
            if isinstance(order, WorkerSpec) and order.pipeline == BUSY:
                self._killed.wait(BUSY_S)
            refused = isinstance(order, WorkerSpec) and order.pipeline == REFUSED and order.rank == 1
            self._answers.put(None if refused else Opened() if isinstance(order, WorkerSpec) else Ended())
        self._answers.put(None)

    @property
    def free(self) -> bool:
        return not self._serving and self.death() is None

    def death(self) -> PeerDied | None:
        return None if self._task.is_alive() else PeerDied(f"The worker process {self.pid}", "killed by SIGKILL")

    def tell(self, spec: WorkerSpec, descriptors: Sequence[int]) -> None:
        self._orders.put(spec)
        self._serving = True

    def end_worker(self) -> None:
        """Have the worker end, as it does when it is told to stop."""
        self._orders.put(Ended())

    def await_answer(self, expected: type[Answer]) -> None:
        answer = self._answers.get(timeout=self.timeout_s)
        self._serving = isinstance(answer, Opened)
        if not isinstance(answer, expected):
            raise PeerFailed(f"The worker process {self.pid} has no weights.")

    def let_go(self) -> None:
        self._orders.put(None)

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._killed.set()
        self.let_go()
        self._task.join()

    def stop(self, *, grace_s: float = GRACE_S) -> None:
        self.let_go()
        self._task.join(grace_s)
        self.kill()


@contextlib.contextmanager
def processes(rt: Runtime) -> Iterator[list[TaskHost]]:
    """Let groups start tasks in place of processes, and tell which they started."""
    started: list[TaskHost] = []

    def start(*, timeout_s: float) -> TaskHost:
        started.append(TaskHost(rt, len(started) + 1, timeout_s))
        return started[-1]

    before, group.WorkerHost = group.WorkerHost, start  # type: ignore[misc, assignment]
    try:
        yield started
    finally:
        group.WorkerHost = before  # type: ignore[misc]


def opened(rt: Runtime, hosts: HostGroup, pipeline: str = FINE) -> HostedWorkers:
    return hosts.open(rt, WorkerSpec(pipeline=pipeline), ring_bytes=1024, slab_classes=(SlotClass(1 << 10, 1),))


def explored(scenario: Callable[[Runtime, HostGroup, list[TaskHost]], Any]) -> None:
    """Sample a scenario of two ranks, and see that no process is left at its end, and none was waited for too long."""

    def whole(rt: Runtime) -> None:
        with processes(rt) as started:
            with HostGroup(2, timeout_s=TIMEOUT_S) as hosts:
                scenario(rt, hosts, started)
            assert all(host.death() for host in started)
            assert {host.timeout_s for host in started} == {TIMEOUT_S}
            assert rt.now() < BUSY_S

    sample(whole, runs=100)


def test_workers_that_are_dropped_leave_no_descriptor_behind() -> None:
    """Whoever forgets to end them has lost them; their memory goes all the same."""
    rt = NativeRuntime()
    lanes = Lanes(rt, ranks=1, ring_bytes=1024, slab_classes=(SlotClass(1 << 10, 1),))
    descriptors = lanes.descriptors(0)
    workers = HostedWorkers((), lanes)
    assert all(os.fstat(descriptor) for descriptor in descriptors)
    del workers
    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_processes_serve_one_engine_after_another_and_none_once_stopped() -> None:
    """Stopped by another thread, they are refused from then on."""

    def scenario(rt: Runtime, hosts: HostGroup, started: list[TaskHost]) -> None:
        for _ in range(2):
            workers = opened(rt, hosts)
            with pytest.raises(UsageError, match="serve another engine"):
                opened(rt, hosts)
            for host in started:
                host.end_worker()
            workers.join()
        assert hosts.pids == (1, 2)
        stopping = rt.spawn(hosts.stop, name="stopping")
        stopping.join()
        with pytest.raises(UsageError, match="were stopped"):
            opened(rt, hosts)

    explored(scenario)


def test_a_process_that_was_killed_is_replaced() -> None:
    """At whatever moment of the opening: it fails with that, or the workers serve; the next engine has both ranks."""

    def scenario(rt: Runtime, hosts: HostGroup, started: list[TaskHost]) -> None:
        killing = rt.spawn(started[0].kill, name="kill")
        with contextlib.suppress(OmniError):
            opened(rt, hosts).kill()
        killing.join()
        workers = opened(rt, hosts)
        assert 1 not in workers.pids
        workers.kill()

    explored(scenario)


def test_a_worker_that_does_not_end_is_killed_under_whoever_waits_for_it() -> None:
    """As at the deadline of a shutdown; the process whose worker has ended is kept."""

    def scenario(rt: Runtime, hosts: HostGroup, started: list[TaskHost]) -> None:
        workers = opened(rt, hosts)
        started[1].end_worker()
        deadline = rt.spawn(lambda: (rt.sleep(1), workers.kill_processes()), name="shutdown deadline")
        with pytest.raises(PeerFailed):
            workers.join()
        assert rt.now() < TIMEOUT_S
        deadline.join()
        assert [bool(host.death()) for host in started] == [True, False]
        workers.join()
        opened(rt, hosts).kill()

    explored(scenario)


def test_a_worker_that_was_waited_for_in_vain_is_killed_behind_that() -> None:
    """Its process is of no use to anybody; that of the worker that has ended serves the next engine."""

    def scenario(rt: Runtime, hosts: HostGroup, started: list[TaskHost]) -> None:
        workers = opened(rt, hosts)
        started[1].end_worker()
        with pytest.raises(queue.Empty):
            workers.join()
        workers.kill_processes()
        assert [bool(host.death()) for host in started] == [True, False]
        after = opened(rt, hosts)
        assert hosts.pids == (3, 2)
        workers.kill_processes()
        assert not started[1].death()
        after.kill()

    explored(scenario)


def test_workers_that_nobody_ended_go_before_the_next_ones_come() -> None:
    """Whoever forgets an engine leaves processes that serve: they hold memory, and take no other worker."""

    def scenario(rt: Runtime, hosts: HostGroup, started: list[TaskHost]) -> None:
        memory = opened(rt, hosts)._lanes
        workers = opened(rt, hosts)
        assert memory is not None
        memory.close()
        assert [bool(host.death()) for host in started] == [True, True, False, False]
        workers.kill()

    explored(scenario)


def test_what_one_rank_refuses_leaves_no_process_that_serves() -> None:
    """The other one has built its worker already, or is about to."""

    def scenario(rt: Runtime, hosts: HostGroup, started: list[TaskHost]) -> None:
        with pytest.raises(PeerFailed, match="has no weights"):
            opened(rt, hosts, REFUSED)
        assert started[0].death()
        assert started[1].free

    explored(scenario)


def test_a_group_that_is_left_while_a_process_is_busy_kills_it() -> None:
    """All others end by themselves, in the same time of grace."""

    def scenario(rt: Runtime, hosts: HostGroup, started: list[TaskHost]) -> None:
        started[0].tell(WorkerSpec(pipeline=BUSY), ())

    explored(scenario)
