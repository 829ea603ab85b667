"""Real worker processes: what goes wrong in one reaches the right caller, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omni_ipc.errors import OmniError, PeerDied, PeerFailed, ShutdownError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.host import WorkerHost
from omni_ipc.serving.messages import Execute
from omni_ipc.serving.requests import Request
from omni_ipc.serving.spec import WorkerSpec
from omni_ipc.transport import liveness
from tests.support.executors import executor_over
from tests.support.lanes import ROOT, RT

CHOOSY = WorkerSpec(pipeline="tests.serving.pipelines:Choosy")
STUCK = WorkerSpec(pipeline="tests.serving.pipelines:Stuck")


@pytest.fixture
def host() -> Iterator[WorkerHost]:
    with WorkerHost() as host:
        yield host


def execute(executor: Executor, *requests: str) -> tuple[str, ...]:
    return executor.execute([Request(request) for request in requests]).outputs


def result_of(executor: Executor, output: str) -> np.ndarray:
    value: np.ndarray = executor.result(output, executor.wait(output))
    return value


def test_one_process_runs_workers_one_after_another(host: WorkerHost) -> None:
    """Three workers in a row, each with lanes of its own, in one process."""
    pid = host.pid
    for round_ in range(3):
        rt = NativeRuntime()
        worker = host.open(rt, CHOOSY)
        executor = executor_over(worker, rt)
        outputs = execute(executor, "x", "yy")
        assert [result_of(executor, output).tolist() for output in outputs] == [[1, 1, 1], [2, 2, 2]], round_
        assert executor.shutdown(), "the worker says goodbye on both lanes"
        worker.join()
    assert host.pid == pid
    assert host.death() is None


def test_a_process_between_two_workers_holds_none_of_their_memory(host: WorkerHost) -> None:
    """Once a worker has ended, its process maps no segment: the parts of a worker refer to each other, and to it."""
    rt = NativeRuntime()
    worker = host.open(rt, CHOOSY)
    executor = executor_over(worker, rt)
    execute(executor, "x")
    assert "memfd:omni_ipc" in Path(f"/proc/{host.pid}/maps").read_text()
    executor.shutdown()
    worker.join()
    assert "memfd:omni_ipc" not in Path(f"/proc/{host.pid}/maps").read_text()


def test_each_misfortune_reaches_its_own_caller_and_the_worker_goes_on(host: WorkerHost) -> None:
    """A forward that raises, an output that cannot travel, too few outputs: an error each; the next batch works."""
    rt = NativeRuntime()
    worker = host.open(rt, CHOOSY)
    executor = executor_over(worker, rt)
    with pytest.raises(PeerFailed, match="RuntimeError: out of memory"):
        execute(executor, "raise")
    with pytest.raises(PeerFailed, match="SystemExit: 3"):
        execute(executor, "exit")
    with pytest.raises(PeerFailed, match=r"forward\(\) returned a dict. Let it return a list"):
        execute(executor, "dict", "x")
    (output,) = execute(executor, "object")
    with pytest.raises(PeerFailed, match="which cannot travel"):
        result_of(executor, output)
    with pytest.raises(PeerFailed, match="1 outputs for a batch of 2 requests"):
        execute(executor, "few", "x")
    (output,) = execute(executor, "abc")
    assert result_of(executor, output).tolist() == [3, 3, 3]
    executor.shutdown()
    worker.join()


@pytest.mark.parametrize(("number", "name"), [(signal.SIGKILL, "SIGKILL"), (40, "signal 40")])
def test_a_killed_worker_fails_its_pending_work_with_the_name_of_the_signal(
    host: WorkerHost, number: int, name: str
) -> None:
    """In the middle of a forward: call and consumer fail within seconds; so does whatever comes later."""
    rt = NativeRuntime()
    worker = host.open(rt, STUCK)
    executor = executor_over(worker, rt)
    minted = executor.mint(1)
    waiting = executor.wait(minted.output)
    endings: list[BaseException] = []

    def call() -> None:
        try:
            executor.execute([Request("x")], minted)
        except OmniError as error:
            endings.append(error)

    caller = rt.spawn(call, name="caller")
    os.kill(host.pid, number)
    caller.join(timeout=10)
    assert [type(ending) for ending in endings] == [PeerDied]
    assert f"killed by {name}" in str(endings[0])
    with pytest.raises(PeerDied, match=f"killed by {name}"):
        waiting.result(10)
    with pytest.raises(PeerDied, match=f"killed by {name}"):
        executor.mint(1)
    executor.shutdown()
    with pytest.raises(PeerDied, match=f"killed by {name}"):
        worker.join()


def test_what_cannot_be_built_is_refused_with_the_reason_and_the_next_worker_runs(host: WorkerHost) -> None:
    """Unknown import paths, a pipeline that raises, an unknown device: told at once; the process stays usable."""
    rt = NativeRuntime()
    for spec, told in (
        (WorkerSpec(pipeline="no.such.module:Thing"), "'no.such.module:Thing' cannot be imported"),
        (WorkerSpec(pipeline="tests.serving.pipelines:Nothing"), "cannot be imported"),
        (WorkerSpec(pipeline="tests.serving.pipelines:Unbuildable"), "no weights"),
        (WorkerSpec(pipeline="tests.serving.pipelines:Unbuildable", pipeline_options={"times": 10_000}), "no weights"),
        (WorkerSpec(pipeline="tests.serving.pipelines:Choosy", device="tpu"), "no device 'tpu'"),
    ):
        with pytest.raises(PeerFailed, match=told):
            host.open(rt, spec)
    worker = host.open(rt, CHOOSY)
    executor = executor_over(worker, rt)
    executor.shutdown()
    worker.join()


def test_a_worker_without_memory_for_its_lanes_is_refused_and_leaves_no_descriptor(host: WorkerHost) -> None:
    """Those that came with its spec are closed, also the ones behind that of the segment that could not be mapped."""
    rt = NativeRuntime()
    before = os.listdir(f"/proc/{host.pid}/fd")
    pages = int(Path(f"/proc/{host.pid}/statm").read_text().split()[0])
    limits = resource.prlimit(host.pid, resource.RLIMIT_AS)
    resource.prlimit(host.pid, resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), limits[1]))
    with pytest.raises(PeerFailed, match="cannot be had"):
        host.open(rt, CHOOSY)  # whose inputs have a slab of gigabytes
    resource.prlimit(host.pid, resource.RLIMIT_AS, limits)
    assert os.listdir(f"/proc/{host.pid}/fd") == before
    worker = host.open(rt, CHOOSY)
    executor_over(worker, rt).shutdown()
    worker.join()


def test_shutdown_delivers_what_was_announced_and_refuses_what_comes_later(host: WorkerHost) -> None:
    """An output that had arrived can still be taken after shutdown; a new wait fails at once."""
    rt = NativeRuntime()
    worker = host.open(rt, CHOOSY)
    executor = executor_over(worker, rt)
    later = executor.mint(1)
    (output,) = execute(executor, "x")
    executor.shutdown()
    worker.join()
    assert result_of(executor, output).tolist() == [1, 1, 1]
    with pytest.raises(ShutdownError):
        executor.wait(later.output)
    with pytest.raises(ShutdownError):
        execute(executor, "x")


def test_a_stuck_process_is_killed_when_its_host_is_stopped() -> None:
    """A worker that never comes back does not outlive its engine."""
    rt = NativeRuntime()
    host = WorkerHost()
    worker = host.open(rt, STUCK)
    executor = executor_over(worker, rt)
    waiting = executor.wait(executor.mint(1).output)
    worker.requests.send(Execute(1, 1, "1", (Request("x"),), split=False))
    host.stop(grace_s=0.1)
    died = host.death()
    assert died is not None
    assert "SIGKILL" in str(died)
    with pytest.raises(PeerDied, match="SIGKILL"):
        waiting.result(10)
    executor.shutdown()
    with pytest.raises(PeerDied, match="SIGKILL"):
        worker.join()


_ENGINE = """
import signal
from tests.serving.test_host import RT, Execute, Request, WorkerHost, WorkerSpec
host = WorkerHost()
worker = host.open(RT, WorkerSpec(pipeline="tests.serving.pipelines:Stuck"))
worker.requests.send(Execute(1, 1, "1", (Request("x", {prompt!r}),), split=False))
print(host.pid, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("stuck", ["", "with every lock", "stopped"])
def test_a_stuck_process_ends_when_its_engine_is_killed(stuck: str) -> None:
    """Nobody is left to stop it, and its forward never returns, lets no other thread run, or is not even running."""
    command = [sys.executable, "-c", _ENGINE.format(prompt=stuck)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        pid = int(engine.stdout.readline())
        pidfd = os.pidfd_open(pid)
        try:
            if stuck == "stopped":
                os.kill(pid, signal.SIGSTOP)
            assert not liveness.has_ended(pidfd)
            engine.kill()
            assert liveness.has_ended(pidfd, within_ms=10_000)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            engine.kill()
            os.close(pidfd)


def test_a_process_lives_on_when_the_thread_that_asked_for_it_has_ended() -> None:
    """It is bound to the engine's process, and not to whoever started the engine there."""
    rt = NativeRuntime()
    made: list[WorkerHost] = []
    rt.spawn(lambda: made.append(WorkerHost()), name="starter").join(30)
    with made[0] as host:
        worker = host.open(rt, CHOOSY)
        executor = executor_over(worker, rt)
        (output,) = execute(executor, "x")
        assert result_of(executor, output).tolist() == [1, 1, 1]
        assert executor.shutdown()
        worker.join()


@pytest.mark.parametrize("when", ["before", "after"])
def test_ctrl_c_while_a_process_is_started_leaves_none(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a dead one that nobody has reaped, nor a descriptor of it; the leak check sees both."""
    begin = subprocess.Popen
    told = RT.event()

    def tell(number: int, frame: object) -> None:
        told.set()
        raise KeyboardInterrupt

    def interrupted(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = begin(*args, **options) if when == "after" else None
        os.kill(os.getpid(), signal.SIGINT)
        assert told.wait(30)
        return process or begin(*args, **options)

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    before = signal.signal(signal.SIGINT, tell)
    try:
        with pytest.raises(KeyboardInterrupt):
            WorkerHost()
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_forked_child_does_not_hide_the_death_of_the_process(tmp_path: Path) -> None:
    """It holds every descriptor that the process had; the engine hears of the death at once, and of its signal."""
    pid_file = tmp_path / "pid"
    with WorkerHost() as host:
        spec = WorkerSpec(pipeline="tests.serving.pipelines:Forking", pipeline_options={"pid_file": str(pid_file)})
        worker = host.open(RT, spec)
        try:
            os.kill(host.pid, signal.SIGKILL)
            with pytest.raises(PeerDied, match=r"The writer of lane 'worker\.(main|output)', process"):
                worker.results.receive(10)
            with pytest.raises(PeerDied, match=r"killed by SIGKILL\."):
                worker.join()
        finally:
            os.kill(int(pid_file.read_text()), signal.SIGKILL)


def test_a_death_is_told_in_full_while_another_thread_reaps_the_process(host: WorkerHost) -> None:
    """`Popen.poll` knows nothing while another thread waits for the process; who asks then waits for the answer."""
    process = host._process
    with process._waitpid_lock:  # type: ignore[attr-defined]  # as a thread in Popen.wait holds it
        os.kill(host.pid, signal.SIGKILL)
        os.waitid(os.P_PID, host.pid, os.WEXITED | os.WNOWAIT)
        told: list[PeerDied | None] = []
        asker = RT.spawn(lambda: told.append(host.death()), name="asker")
        asker.join(timeout=0.2)
        assert told == []
    asker.join(timeout=10)
    assert "killed by SIGKILL" in str(told)
