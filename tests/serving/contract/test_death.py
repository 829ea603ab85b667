"""A worker that dies, at each of its steps: everybody is told how, in time, and the next engine works."""

from __future__ import annotations

import os
import signal
import time
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
from tests.support.waiting import until

STEPS = (
    FORWARD,
    "Bell.Park",
    "Reader.Look",
    "Reader.Take",
    "Slab.Loan",
    "Worker.Announce",
    "Worker.Close",
    "Worker.Drain",
    "Worker.HandOver",
    "Worker.Reply",
    "Worker.Settle",
    "Writer.Claim",
    "Writer.Publish",
)
"""What a worker does from its first forward on; `test_the_grid_has_every_step_of_a_worker` keeps it complete."""

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
    ("Worker.Close", BEFORE, "SIGKILL"),
}
GRID = [
    pytest.param(step, side, how, marks=[] if (step, side, how) in SAMPLE else [pytest.mark.soak])
    for step in STEPS
    for side in (BEFORE, AFTER)
    for how in HOW
]

WITHIN_S = 10.0  # of the death; it takes a tenth of a second where the machine has time
CONFIG = EngineConfig(max_batch=4, shutdown_timeout_s=5)


class Life:
    """What a client asks of an engine, one thing after the other, and what came of each."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.told: list[tuple[str, float]] = []  # the error, or "", and when it came

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
        try:
            ask()
            self.told.append(("", time.monotonic()))
        except OmniError as error:
            self.told.append((str(error), time.monotonic()))

    def live(self) -> None:
        """Compute, sleep, wake and compute again."""
        self.serve("a", "b", "c", "d", "e")
        self.do(self.engine.sleep)
        self.do(self.engine.wake)
        self.serve("f")


class Death:
    """The end of a process, as it is seen from outside."""

    def __init__(self, pid: int) -> None:
        self.at: float | None = None
        self._pidfd = os.pidfd_open(pid)
        self._watch = RT.spawn(self._look, name="watch")

    def wait(self) -> float:
        """Tell when it was."""
        self._watch.join(30)
        assert self.at is not None, "it did not die"
        return self.at

    def _look(self) -> None:
        liveness.has_ended(self._pidfd, within_ms=None)
        self.at = time.monotonic()
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
    with HostGroup() as hosts:
        with engine_with(hosts, {"step": step, "side": side, "how": int(number)}) as engine:
            death = Death(*hosts.pids)
            life = Life(engine)
            life.live()
            if step != "Worker.Close":
                died = death.wait()
                failed = [(told, at) for told, at in life.told if told]
                assert failed, "somebody was waiting"
                assert all(named in told for told, _ in failed), failed
                assert failed[0][1] - died < WITHIN_S
                with pytest.raises(OmniError, match=named):
                    engine.check_health()
            began = time.monotonic()
            assert not engine.shutdown()
            assert time.monotonic() - began < 2 * CONFIG.shutdown_timeout_s + WITHIN_S
            death.wait()
            assert holds_nothing(engine)
        with engine_with(hosts, {}) as engine:
            life = Life(engine)
            life.live()
            assert [told for told, _ in life.told if told] == []


@pytest.mark.parametrize("config", [{"workers": 2}, {"step_execution": True}], ids=["two ranks", "step execution"])
def test_a_death_is_told_with_several_ranks_and_step_by_step_as_well(config: dict[str, Any]) -> None:
    """Of the last rank, in the middle of a forward or of a step; the others are replaced only if they do not end."""
    settings = msgspec.structs.replace(CONFIG, rank_grace_s=1.0, **config)
    with HostGroup(settings.workers) as hosts:
        with Engine(settings, PipelineSpec("tests.serving.contract.models:Model"), hosts=hosts) as engine:
            death = Death(hosts.pids[-1])
            streams = [engine.submit(Request(f"{number}", options={"forward_s": 60})) for number in range(2)]
            until(lambda: engine.describe().waiting < len(streams))  # the first may have been taken alone
            os.kill(hosts.pids[-1], signal.SIGKILL)
            for stream in streams:
                with pytest.raises(PeerDied, match="killed by SIGKILL"):
                    stream.result()
            assert time.monotonic() - death.wait() < WITHIN_S
            with pytest.raises(PeerDied, match="killed by SIGKILL"):
                engine.check_health()
        with Engine(settings, PipelineSpec("tests.serving.contract.models:Model"), hosts=hosts) as engine:
            assert is_output_of("again", engine.generate(Request("again")))


def test_the_grid_has_every_step_of_a_worker(tmp_path: Path) -> None:
    """A worker that lives to its end writes down what it does; those are the moments at which others die."""
    record = tmp_path / "steps"
    with HostGroup() as hosts, engine_with(hosts, {"record": str(record)}) as engine:
        life = Life(engine)
        life.live()
        assert [told for told, _ in life.told if told] == []
        engine.shutdown()
    assert set(record.read_text().split()) == set(STEPS)
