"""A worker that dies, at each of its steps: everybody is told how, in time, and the next engine works."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from omni_ipc.errors import OmniError, PeerDied
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.requests import Request
from omni_ipc.transport import liveness
from tests.serving.contract.engines import holds_nothing, is_output_of
from tests.serving.contract.models import AFTER, BEFORE, EXIT_STATUS, FORWARD
from tests.support.lanes import RT
from tests.support.regions import regions_of
from tests.support.ticks import Ticks
from tests.support.waiting import until, within

ELSEWHERE = {
    "Bell.Ring": "it wakes a producer of the same process, and there is one",
    "Lease.Release": "inputs are let go, and not given back by a call",
    "Port.Close": "an engine's",
    "Reader.Close": "an engine's",
    "Slab.Forget": "its one reader is alive",
    "Slab.Look": "there is a slot for each output",
    "Writer.Look": "its lanes are never full",
}
"""Regions of a worker's modules that it does not enter here; `tests/transport` kills processes there, too."""

STEPS = (
    FORWARD,
    *sorted(
        regions_of(*(f"omni_ipc/serving/{name}.py" for name in ("worker", "announcer", "in_flight")))
        | regions_of("omni_ipc/transport") - ELSEWHERE.keys()
    ),
)
"""What a worker does from its first forward on: `test_the_grid_has_every_step_of_a_worker` lets one do it."""

HOW = {
    "SIGKILL": (signal.SIGKILL, "killed by SIGKILL"),
    "SIGSEGV": (signal.SIGSEGV, "killed by SIGSEGV"),
    "exit": (0, f"ended with exit status {EXIT_STATUS}"),
}
SAMPLE = {  # of the grid, in CI
    (FORWARD, BEFORE, "SIGKILL"),
    ("Slab.Loan", AFTER, "exit"),
    ("Worker.Announce", BEFORE, "SIGKILL"),
    ("Writer.Publish", AFTER, "SIGKILL"),
    ("Worker.Settle", BEFORE, "SIGKILL"),
    ("Worker.Fail", BEFORE, "SIGKILL"),
    ("Worker.Close", BEFORE, "SIGKILL"),
}
GRID = [
    pytest.param(step, side, how, marks=[] if (step, side, how) in SAMPLE else [pytest.mark.soak])
    for step in STEPS
    for side in (BEFORE, AFTER)
    for how in HOW
]

WITHIN_S = 2.0  # of the death, by a clock that counts the time which this process gets
PATIENCE_S = 20.0  # on the wall, for whatever the machine does meanwhile
CONFIG = EngineConfig(max_batch=4, shutdown_timeout_s=5)


class Life:
    """What a client asks of an engine, one thing after the other, and what came of each."""

    def __init__(self, engine: Engine, ticks: Ticks) -> None:
        self.engine = engine
        self.ticks = ticks
        self.told: list[tuple[str, float, float]] = []  # the error, or "", when it was asked for, and when it came

    def serve(self, *names: str) -> None:
        """Have requests with inputs computed together."""
        inputs = {"picture": np.arange(30_000)}
        streams: list[Any] = []
        for name in names:
            self.do(lambda name=name: streams.append(self.engine.submit(Request(name, inputs=inputs))))
        for stream in streams:
            self.do(stream.result)

    def do(self, ask: Callable[[], object]) -> None:
        """Ask, and note what comes of it."""
        asked, told = self.ticks.now(), ""
        try:
            ask()
        except OmniError as error:
            told = str(error)
        self.told.append((told, asked, self.ticks.now()))

    def failed(self) -> list[tuple[str, float, float]]:
        """Give what did not come to its end."""
        return [each for each in self.told if each[0]]

    def misfit(self, name: str) -> None:
        """Have something computed that cannot travel, and be told so."""
        try:
            self.engine.submit(Request(name, "unfit")).result()
        except OmniError as error:
            if "cannot travel" not in str(error):
                raise

    def live(self) -> None:
        """Compute, sleep, wake, and compute again, at last what cannot travel."""
        self.serve("a", "b", "c", "d", "e")
        self.do(self.engine.sleep)
        self.do(self.engine.wake)
        self.serve("f")
        self.do(lambda: self.misfit("g"))


class Death:
    """The end of a process, as it is seen from outside."""

    def __init__(self, pid: int, ticks: Ticks) -> None:
        self.at: float | None = None
        self._ticks = ticks
        self._pidfd = os.pidfd_open(pid)
        self._watch = RT.spawn(self._look, name="watch")

    def wait(self) -> float:
        """Tell when it was."""
        self._watch.join(30)
        assert self.at is not None, "it did not die"
        return self.at

    def _look(self) -> None:
        liveness.has_ended(self._pidfd, within_ms=None)
        self.at = self._ticks.now()
        os.close(self._pidfd)


@contextmanager
def engine_with(hosts: HostGroup, options: dict[str, Any]) -> Iterator[Engine]:
    with Engine(CONFIG, PipelineSpec("tests.serving.contract.models:Dying", options), hosts=hosts) as engine:
        yield engine


@pytest.mark.parametrize(("step", "side", "how"), GRID)
def test_a_death_at_any_step_is_told_in_time_and_the_engine_can_be_started_again(
    step: str, side: str, how: str
) -> None:
    """Who waits hears of exit status or signal; health is bad; nothing hangs, nothing is left; the next one serves."""
    number, named = HOW[how]
    with HostGroup() as hosts, Ticks() as ticks:
        with engine_with(hosts, {"step": step, "side": side, "how": int(number)}) as engine:
            death = Death(*hosts.pids, ticks)
            life = Life(engine, ticks)
            life.live()
            if step != "Worker.Close":
                died = death.wait()
                life.serve("later")  # a busy machine may have let all be served before the step was met
                assert all(named in told for told, _, _ in life.failed()), life.told
                told_after_s = max(at - max(died, asked) for _, asked, at in life.failed())
                print(f"told after {told_after_s:.2f} s")
                assert told_after_s < WITHIN_S
                with pytest.raises(OmniError, match=named):
                    engine.check_health()
            with within(2 * CONFIG.shutdown_timeout_s + PATIENCE_S):
                assert not engine.shutdown()
            death.wait()
            assert holds_nothing(engine)
        with engine_with(hosts, {}) as engine:
            life = Life(engine, ticks)
            life.live()
            assert life.failed() == []


@pytest.mark.parametrize(
    "config",
    [
        pytest.param({"workers": 2}, id="two ranks"),
        pytest.param({"step_execution": True}, id="step execution"),
        pytest.param({"device": "cuda:0"}, id="cuda", marks=pytest.mark.cuda),
        pytest.param({"device": "xpu:0"}, id="xpu", marks=pytest.mark.xpu),
    ],
)
def test_a_death_is_told_with_several_ranks_step_by_step_and_on_any_device(config: dict[str, Any]) -> None:
    """Of the last rank, in the middle of a forward or of a step; the others are replaced only if they do not end."""
    settings = msgspec.structs.replace(CONFIG, rank_grace_s=1.0, **config)
    with HostGroup(settings.workers) as hosts, Ticks() as ticks:
        with Engine(settings, PipelineSpec("tests.serving.contract.models:Model"), hosts=hosts) as engine:
            death = Death(hosts.pids[-1], ticks)
            streams = [engine.submit(Request(f"{number}", options={"forward_s": 60})) for number in range(2)]
            until(lambda: engine.describe().waiting < len(streams))  # the first may have been taken alone
            os.kill(hosts.pids[-1], signal.SIGKILL)
            for stream in streams:
                with pytest.raises(PeerDied, match="killed by SIGKILL"):
                    stream.result()
            assert ticks.now() - death.wait() < WITHIN_S
            with pytest.raises(PeerDied, match="killed by SIGKILL"):
                engine.check_health()
        with Engine(settings, PipelineSpec("tests.serving.contract.models:Model"), hosts=hosts) as engine:
            assert is_output_of("again", engine.generate(Request("again")))


def test_the_grid_has_every_step_of_a_worker(tmp_path: Path) -> None:
    """A worker that lives to its end writes down what it does; those are the moments at which others die."""
    record = tmp_path / "steps"
    with HostGroup() as hosts, Ticks() as ticks, engine_with(hosts, {"record": str(record)}) as engine:
        life = Life(engine, ticks)
        life.live()
        assert life.failed() == []
        engine.shutdown()
    assert set(record.read_text().split()) == set(STEPS)
    assert set(ELSEWHERE) <= regions_of("omni_ipc/transport")
