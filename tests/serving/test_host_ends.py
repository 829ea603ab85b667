"""The process of a host under the testbed: both its sides run as tasks over a real socket, and end in any order."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from omni_ipc.device.host import HostDevice
from omni_ipc.errors import OmniError, PeerFailed
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Future, Runtime, Task
from omni_ipc.serving import ends, host, hosted, process
from omni_ipc.serving.announcer import Failing
from omni_ipc.serving.host import WorkerHost
from omni_ipc.serving.process import start_process
from omni_ipc.serving.spec import Ended, Opened, WorkerSpec
from omni_ipc.testbed import explore
from tests.support.sockets import LOOK_EVERY_S, Sockets, descriptors

TIMEOUT_S = 5.0
BUSY_S = 100.0  # longer than anybody waits
FINE, FAILS = "fine", "fails"


class TaskProcess:
    """A process as a task, which serves its end of the control socket; started as `subprocess.Popen` is."""

    def __init__(self, world: World, control_fd: int) -> None:
        self.pid, self.pidfd, self._killed = 1 << 23, -1, False  # no process has such an id
        self._world, self._status = world, 0
        self._control = os.dup(control_fd)
        self._task = world.rt.spawn(self._run, name=f"process {len(world.started)}")

    def _run(self) -> None:
        try:
            hosted._serve_all(self._control)
        except SystemExit as exit_:
            self._status = int(exit_.code or 0)

    def open_pidfd(self) -> int:
        """Give a descriptor that stands for it."""
        self.pidfd = os.eventfd(0)
        return self.pidfd

    def poll(self) -> int | None:
        return None if self._task.is_alive() else -signal.SIGKILL if self._killed else self._status

    def wait(self, timeout: float | None = None) -> int:
        self._task.join(timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired("process", timeout or 0)
        return status

    def kill(self) -> None:
        """Let it see the end of all that it waits for."""
        if self._task.is_alive():
            self._killed = True
            self._world.stop.set()
            self._world.sockets.at(self._control).shutdown(2)


class Poll:
    """Stands in for `select.poll`."""

    def __init__(self, world: World) -> None:
        self._world, self._fds = world, list[int]()

    def register(self, fd: int, events: int) -> None:
        self._fds.append(fd)

    def poll(self, within_ms: float) -> list[tuple[int, int]]:
        rt = self._world.rt
        end = rt.now() + within_ms / 1000
        while not (ready := [fd for fd in self._fds if self._world.is_ready(fd)]) and rt.now() < end:
            rt.sleep(LOOK_EVERY_S)
        return [(fd, select.POLLIN) for fd in ready]


class FakeWorker:
    """Waits until it is told to stop, or fails in both of its threads."""

    def __init__(self, world: World, pipeline: str) -> None:
        self._world, self._pipeline = world, pipeline

    def run(self, failing: Failing) -> None:
        if self._pipeline == FAILS:
            for name in ("first", "second"):
                failing(ValueError(f"{name} thread"))
            raise ValueError("first thread")
        self._world.stop.wait(BUSY_S)
        self._world.stop.clear()


class Device(HostDevice):
    """Is taken by a worker until it is closed."""

    def __init__(self) -> None:
        self.is_taken = True

    def close(self) -> None:
        self.is_taken = False


class World:
    """The processes of a run, and what stands in for the system's."""

    def __init__(self, rt: Runtime, patch: pytest.MonkeyPatch) -> None:
        self.rt, self.stop, self.sockets = rt, rt.event(), Sockets(rt)
        self.started: list[TaskProcess] = []
        self.main_loops: list[Task] = []
        self.devices: list[Device] = []
        own = SimpleNamespace(spawn=self._spawn, future=rt.future)
        for module in (host, hosted, process):
            patch.setattr(module, "socket", self.sockets.module)
        patch.setattr(
            process, "os", SimpleNamespace(**{**vars(os), "pidfd_open": lambda _: self.started[-1].open_pidfd()})
        )
        patch.setattr(process, "subprocess", SimpleNamespace(Popen=self._start, DEVNULL=subprocess.DEVNULL))
        patch.setattr(process, "liveness", SimpleNamespace(has_ended=self._await_end))
        patch.setattr(hosted, "os", SimpleNamespace(**{**vars(os), "_exit": _exit}))
        patch.setattr(hosted, "gc", SimpleNamespace(collect=lambda: None))  # it takes most of the time of a run
        patch.setattr(hosted, "make_runtime", lambda spec, others: own)
        patch.setattr(hosted, "make_device", lambda rt, spec: self._make_device())
        patch.setattr(hosted, "make_worker", self._make_worker)
        patch.setattr(host, "NativeRuntime", lambda: rt)
        patch.setattr(host, "select", SimpleNamespace(poll=lambda: Poll(self), POLLIN=select.POLLIN))
        patch.setattr(ends, "_has_ended", lambda pid: False)

    def is_ready(self, fd: int) -> bool:
        """Tell whether something is to be read from a socket, or the process behind a descriptor has ended."""
        for each in self.started:
            if each.pidfd == fd:
                return each.poll() is not None
        return self.sockets.at(fd).readable()

    def _start(self, command: Sequence[str], **_: Any) -> TaskProcess:
        self.started.append(TaskProcess(self, int(command[-2])))
        return self.started[-1]

    def _await_end(self, pidfd: int, *, within_ms: None) -> None:
        next(each for each in self.started if each.pidfd == pidfd).wait()

    def _make_device(self) -> Device:
        self.devices.append(Device())
        return self.devices[-1]

    def _make_worker(self, rt: object, spec: WorkerSpec, *_: object) -> FakeWorker:
        return FakeWorker(self, spec.pipeline)

    def _spawn(self, fn: Callable[..., object], *args: object, name: str) -> Task:
        """Start a thread whose end takes a moment, in which it holds what it was called with."""

        def run(*args: object) -> None:
            fn(*args)
            self.rt.sleep(LOOK_EVERY_S)

        self.main_loops.append(self.rt.spawn(run, *args, name=name))
        return self.main_loops[-1]


def _exit(status: int) -> None:
    raise SystemExit(status)


Explored = Callable[[Callable[[World], object]], None]


@pytest.fixture
def explored(monkeypatch: pytest.MonkeyPatch) -> Explored:
    """Run a scenario in many orders; none fails, or leaves a process, a thread or a descriptor."""

    def explored(scenario: Callable[[World], object]) -> None:
        def whole(rt: Runtime) -> None:
            before = descriptors()
            world = World(rt, monkeypatch)
            scenario(world)
            assert all(each.poll() is not None for each in world.started), "a process was left"
            assert descriptors() == before
            assert rt.now() < TIMEOUT_S, "somebody waited until its time was over"

        report = explore(whole, strategy="sampling", runs=30, declared=True)
        assert report.failure is None, report.failure
        assert report.verdict is Verdict.BOUNDED, report.reason

    return explored


def test_a_host_runs_one_worker_after_another_and_ends_by_itself(explored: Explored) -> None:
    """It is free before and behind each; and nothing of a worker runs, or has the device, once it has ended."""

    def scenario(world: World) -> None:
        with WorkerHost(timeout_s=TIMEOUT_S) as owned:
            for _ in range(2):
                assert owned.free
                owned.tell(WorkerSpec(pipeline=FINE), ())
                assert not owned.free
                owned.await_answer(Opened)
                world.stop.set()
                owned.await_answer(Ended)
                assert not world.main_loops[-1].is_alive()
                assert not world.devices[-1].is_taken
            assert owned.free
        assert not owned._keeper.is_alive()
        assert world.started[0].poll() == 0

    explored(scenario)


def test_a_worker_that_fails_is_told_by_its_first_error(explored: Explored) -> None:
    """However many of its threads fail; its process ends, whose other parts nobody knows."""

    def scenario(world: World) -> None:
        with WorkerHost(timeout_s=TIMEOUT_S) as owned:
            owned.tell(WorkerSpec(pipeline=FAILS), ())
            owned.await_answer(Opened)
            with pytest.raises(PeerFailed, match="first thread"):
                owned.await_answer(Ended)
        assert world.started[0].poll() == hosted.FAILED

    explored(scenario)


def test_what_cannot_be_mapped_is_refused_and_kept_by_nobody(explored: Explored) -> None:
    """The next worker of the same process is fine, and nothing is said against it."""

    def scenario(world: World) -> None:
        with WorkerHost(timeout_s=TIMEOUT_S) as owned:
            nothing = [os.open(os.devnull, os.O_RDWR) for _ in range(2)]
            owned.tell(WorkerSpec(pipeline=FINE), nothing)
            for fd in nothing:
                os.close(fd)
            with pytest.raises(PeerFailed):
                owned.await_answer(Opened)
            owned.tell(WorkerSpec(pipeline=FINE), ())
            owned.await_answer(Opened)
            assert owned.failure() is None
            world.stop.set()
            owned.await_answer(Ended)

    explored(scenario)


class Interrupted:
    """A runtime in which Ctrl-C comes in the middle of a start."""

    def __init__(self, rt: Runtime, moment: str) -> None:
        self._rt, self._moment = rt, moment

    def spawn(self, fn: Callable[..., object], *args: object, name: str) -> Task:
        task = self._rt.spawn(fn, *args, name=name)
        if self._moment == "begun":
            raise KeyboardInterrupt
        return task

    def future(self) -> Future[Any]:
        future, rt, moment = self._rt.future(), self._rt, self._moment
        result, left = future.result, [moment == "awaited"]

        def interrupted(timeout: float | None = None) -> Any:
            if left.pop() if left else False:
                rt.sleep(0)
                raise KeyboardInterrupt
            return result(timeout)

        future.result = interrupted  # type: ignore[method-assign]
        return future


@pytest.mark.parametrize("moment", ["begun", "awaited"])
def test_a_start_that_is_interrupted_leaves_no_process(explored: Explored, moment: str) -> None:
    """Whether it has begun, is on its way or is there; the keeper ends by itself."""

    def scenario(world: World) -> None:
        with contextlib.suppress(KeyboardInterrupt, OmniError):
            start_process(Interrupted(world.rt, moment))  # type: ignore[arg-type]
        world.rt.sleep(1)  # by then the keeper has ended whatever nobody wants

    explored(scenario)
