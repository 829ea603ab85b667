"""A thread of a worker dies while its process could live on: all are told why, at once, and the next one works."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import pytest

from omni_ipc.errors import OmniError, PeerFailed
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.hosted import FAILED
from omni_ipc.serving.requests import Request
from tests.serving.contract.engines import MODEL, holds_nothing, is_output_of
from tests.serving.contract.models import FAILURE, SPAWN, LostByCopy, LostDevice, LostUnseen

MAIN, OUTPUT, CLOSE = "Worker.Reply", "Worker.Settle", "Worker.Close"
CASES = [
    pytest.param(MAIN, 2, id="main loop, of the last rank"),
    pytest.param(OUTPUT, 1, id="output thread"),
    pytest.param(SPAWN, 1, id="before the first command"),
    pytest.param(MAIN, 1, id="main loop", marks=pytest.mark.soak),
    pytest.param(OUTPUT, 2, id="output thread, of the last rank", marks=pytest.mark.soak),
    pytest.param(SPAWN, 2, id="before the first command, on the last rank", marks=pytest.mark.soak),
]
FAILS = re.escape(FAILURE)


@contextlib.contextmanager
def failing_at(step: str, hosts: HostGroup) -> Iterator[Engine]:
    """Run an engine whose last rank fails at a step; its calls would wait for ten minutes for an answer."""
    config = EngineConfig(workers=len(hosts.pids), max_batch=1, shutdown_timeout_s=5)
    pipeline = PipelineSpec("tests.serving.contract.models:Failing", {"step": step})
    with Engine(config, pipeline, hosts=hosts) as engine:
        yield engine


def error_of(engine: Engine, name: str) -> OmniError | None:
    """Have a request computed; gives what it ended with, if that was no output."""
    try:
        engine.generate(Request(name))
    except OmniError as error:
        return error
    return None


def check_next(hosts: HostGroup, before: tuple[int, ...]) -> None:
    """Check that the next engine has another process for its last rank, and serves."""
    with Engine(EngineConfig(workers=len(before)), PipelineSpec(MODEL), hosts=hosts) as engine:
        assert is_output_of("next", engine.generate(Request("next")))
    assert hosts.pids[-1] != before[-1]


@pytest.mark.parametrize(("step", "ranks"), CASES)
def test_a_thread_that_dies_is_told_with_its_error_to_whoever_waits_and_its_process_is_replaced(
    step: str, ranks: int
) -> None:
    """Nobody waits for a timeout: requests, later ones too, and health name the error; nothing is pending."""
    with HostGroup(ranks) as hosts:
        before = hosts.pids
        with failing_at(step, hosts) as engine:
            told = [error for error in (error_of(engine, name) for name in "abc") if error is not None]
            assert told, "the third is asked for when the thread has died by the first"
            for error in told:
                assert isinstance(error, PeerFailed)
                assert FAILURE in str(error)
            with pytest.raises(PeerFailed, match=FAILS):
                engine.check_health()
            assert hosts._hosts[-1]._process.wait(30) == FAILED
            assert not engine.shutdown()
            assert holds_nothing(engine)
        check_next(hosts, before)


def test_a_worker_that_fails_at_its_end_has_said_no_goodbye_and_its_process_is_replaced() -> None:
    """All was delivered by then, and the shutdown does not wait for its timeout."""
    with HostGroup() as hosts:
        before = hosts.pids
        with failing_at(CLOSE, hosts) as engine:
            assert error_of(engine, "a") is None
            assert not engine.shutdown()
        check_next(hosts, before)


@contextlib.contextmanager
def losing(device: type[LostDevice], hosts: HostGroup) -> Iterator[Engine]:
    """Run an engine whose worker loses its device."""
    config = EngineConfig(device=f"{device.__module__}:{device.__name__}", shutdown_timeout_s=5)
    with Engine(config, PipelineSpec(MODEL), hosts=hosts) as engine:
        yield engine


def test_a_process_to_which_its_device_is_lost_is_replaced() -> None:
    """The request hears of what its copy met, health of the device; nothing would be computed there any more."""
    with HostGroup() as hosts:
        before = hosts.pids
        with losing(LostByCopy, hosts) as engine:
            told = error_of(engine, "a")
            assert isinstance(told, PeerFailed)
            assert LostDevice.ERROR in str(told)
            assert hosts._hosts[0]._process.wait(30) == FAILED
            with pytest.raises(PeerFailed, match="answers this process no more"):
                engine.check_health()
        check_next(hosts, before)


def test_a_process_that_has_lost_its_device_unseen_ends_as_no_worker_can_be_built_there() -> None:
    """One start fails, and says why; the next one has another process."""
    with HostGroup() as hosts:
        before = hosts.pids
        with losing(LostUnseen, hosts) as engine:
            assert error_of(engine, "a") is None
        with pytest.raises(PeerFailed, match="answers this process no more"), losing(LostUnseen, hosts):
            pass
        check_next(hosts, before)
