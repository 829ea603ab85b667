"""The end of a whole engine under the testbed, its workers' processes being tasks: whoever ends it, and whenever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest

from omni_ipc.errors import OmniError, ShutdownError, Timeout
from omni_ipc.scenarios.launch import launch_over_queues
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline, is_output_of
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.engine import Engine
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.monitor import Monitor
from omni_ipc.serving.pipeline import Pipeline
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome
from omni_ipc.serving.spec import WorkerSpec
from tests.serving.exhausting import exhaust, sample

CONFIG = EngineConfig(rpc_timeout_s=60.0, drain_timeout_s=0.5, shutdown_timeout_s=1.0, poll_s=0.1)
LONG_S = 30.0  # by then whatever a shutdown has left going has done what it would do


class Killed(Exception):
    """What a process does not get to see."""


class Workers:
    """The only worker of an engine, in tasks that stand for its process, and what was done with it."""

    pids = (1,)
    ranks = 1

    def __init__(self, rt: Runtime, pipeline: Callable[[Workers], Pipeline]) -> None:
        self.rt = rt
        self.killed = rt.event()
        self.joined = self.given_back = False
        self._link = launch_over_queues(rt, Parts(), pipeline=pipeline(self))
        self.requests, self.results = self._link.requests, self._link.results

    def death(self, rank: int | None = None) -> None:
        """Tell that it lives: whoever is killed here says so himself."""

    def stopped(self, rank: int) -> None:
        """Tasks are not stopped by signals."""

    def join(self) -> None:
        self._link.join()
        self.joined = True

    def kill_processes(self) -> None:
        self.killed.set()

    def kill(self) -> None:
        if not self.joined:
            self.kill_processes()
        self.given_back = True


class Hosts:
    """Opens such workers."""

    pids = (1,)

    def __init__(self, pipeline: Callable[[Workers], Pipeline]) -> None:
        self.pipeline = pipeline
        self.workers: Workers | None = None

    def open(self, rt: Runtime, spec: WorkerSpec, **_: object) -> Workers:
        self.workers = Workers(rt, self.pipeline)
        return self.workers


class Stuck:
    """Computes until its process is killed."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def forward(self, batch: Sequence[Request]) -> list[np.ndarray[Any, Any]]:
        self._workers.killed.wait()
        raise Killed


class Slow(ArrayPipeline):
    """Computes for longer than a shutdown waits for a goodbye."""

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._rt = workers.rt

    def forward(self, batch: Sequence[Request]) -> list[np.ndarray[Any, Any]]:
        self._rt.sleep(1.5 * CONFIG.shutdown_timeout_s)
        return super().forward(batch)


def engine_of(
    rt: Runtime, pipeline: Callable[[Workers], Pipeline] = lambda _: ArrayPipeline()
) -> tuple[Engine, Workers]:
    """Start an engine over a worker in tasks."""
    hosts = Hosts(pipeline)
    engine = Engine(CONFIG, "omni_ipc.scenarios.pipelines:ArrayPipeline", hosts=cast("HostGroup", hosts), rt=rt)
    assert hosts.workers is not None
    return engine, hosts.workers


def told(engine: Engine, request: str) -> str:
    """Ask for an output, and tell how that ended."""
    try:
        output = engine.generate(Request(request))
    except OmniError as error:
        return Outcome.of(error)
    assert is_output_of(request, output.value)
    return Outcome.RESULT


def assert_over(engine: Engine, workers: Workers) -> None:
    """See that nothing of an engine goes on, that its memory was given back, and that it takes nothing more."""
    assert workers.given_back
    assert not engine._dispatching.is_alive()
    assert engine._monitor._task is not None
    assert not engine._monitor._task.is_alive()
    assert engine.describe().waiting == 0
    with pytest.raises(ShutdownError, match="is shutting down"):
        engine.submit(Request("late"))


def test_an_engine_that_is_left_while_others_use_it_ends_well() -> None:
    """At any moment: each request has its output, or is told; the worker has ended by itself, and nobody kills it."""
    seen: set[str] = set()

    def scenario(rt: Runtime) -> None:
        endings: list[str] = []
        with engine_of(rt)[0] as engine:
            workers = cast("Workers", engine._workers)
            client = rt.spawn(lambda: endings.append(told(engine, "a")), name="client")
        assert workers.joined
        assert_over(engine, workers)
        client.join()
        assert engine.describe().open == 0
        rt.sleep(LONG_S)
        assert not workers.killed.is_set()
        seen.update(endings)

    sample(scenario)
    assert seen == {Outcome.RESULT, Outcome.SHUT_DOWN}


def test_an_engine_whose_worker_does_not_end_kills_it() -> None:
    """In bounded time; who waits for an output of it is told, and nothing goes on."""

    def scenario(rt: Runtime) -> None:
        engine, workers = engine_of(rt, Stuck)
        stream = engine.submit(Request("a"))
        rt.sleep(0.1)
        began = rt.now()
        assert not engine.shutdown()
        assert rt.now() - began <= 6 * CONFIG.shutdown_timeout_s
        with pytest.raises(OmniError):
            stream.result()
        assert workers.killed.is_set()
        assert_over(engine, workers)

    sample(scenario)


def test_a_call_that_a_worker_does_not_answer_ends_in_its_own_time() -> None:
    """Not in that of the configuration."""

    def scenario(rt: Runtime) -> None:
        engine, workers = engine_of(rt, Stuck)
        stream = engine.submit(Request("a"))
        rt.sleep(0.1)
        began = rt.now()
        with pytest.raises(Timeout):
            engine.call("wake", timeout_s=2.0)
        assert rt.now() - began == pytest.approx(2.0)
        engine.shutdown()
        stream.close()
        assert_over(engine, workers)

    sample(scenario, runs=100)


def test_what_is_being_computed_when_an_engine_ends_is_delivered() -> None:
    """As long as that takes no longer than a shutdown in good order may."""

    def scenario(rt: Runtime) -> None:
        engine, workers = engine_of(rt, Slow)
        stream = engine.submit(Request("a"))
        rt.sleep(0.1)
        assert engine.shutdown()
        assert is_output_of("a", stream.result().value)
        assert_over(engine, workers)

    sample(scenario, runs=100)


def test_a_monitor_looks_again_and_again_until_it_is_told_to_stop() -> None:
    """And then no more."""

    def scenario(rt: Runtime) -> None:
        looks: list[float] = []
        monitor = Monitor(rt=rt, look=lambda: looks.append(rt.now()), every_s=1.0)
        monitor.start()
        rt.sleep(5.5)
        assert monitor.stop(1.0)
        assert len(looks) == 5
        rt.sleep(5.0)
        assert len(looks) == 5

    exhaust(scenario)
