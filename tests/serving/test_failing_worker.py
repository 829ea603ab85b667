"""A worker whose main loop dies while its process lives, in every order: whoever waits is told why, by no timeout."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from omni_ipc.errors import FormatError, OmniError, PeerFailed
from omni_ipc.scenarios.launch import launch_over_queues
from omni_ipc.scenarios.parts import Parts
from omni_ipc.serving.announcer import Failing
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.messages import Answer
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.requests import Request
from omni_ipc.serving.worker import Worker
from omni_ipc.testbed import ControlledRuntime
from tests.serving.exhausting import exhaust

CAUSE = "out of descriptors"
CONFIG = ServingConfig(rpc_timeout_s=600, output_timeout_s=600, poll_s=0.1)
TOLD_WITHIN_S = 3 * CONFIG.poll_s  # the pump looks, and once more for what was published meanwhile


class Survived(Worker):
    """Its process lives on, and says nothing more."""

    def run(self, failing: Failing = lambda _: None) -> None:
        with contextlib.suppress(OSError, FormatError):
            super().run(failing)


class Mute(Survived):
    """Fails when it is to answer, with what is no error of ours."""

    def _reply(self, answer: Answer, payload: Any = None) -> None:
        raise OSError(CAUSE)


class Deaf(Survived):
    """Fails when it is to take its first command."""

    def _next(self) -> None:
        raise FormatError(f"No command can be read: {CAUSE}.")


@pytest.mark.parametrize("worker", [Mute, Deaf])
def test_whoever_waits_is_told_what_a_main_loop_died_of_before_any_timeout(worker: type[Worker]) -> None:
    """A forward, a call beside it and a consumer; health is bad with the same, one callback hears it, nothing stays."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = Executor(
            rt=rt, link=launch_over_queues(rt, Parts(worker=worker)), table=OutputTable(rt=rt), config=CONFIG
        )
        told: list[OmniError] = []
        executor.on_failure(told.append)
        output = executor.mint(1).output  # of another forward, which has not come to the worker
        waiting = executor.wait(output)

        def ask(call: Callable[[], object]) -> None:
            try:
                call()
            except OmniError as error:
                told.append(error)

        executor.start()
        asking = rt.spawn(ask, lambda: executor.call("sleep", level=1), name="caller")
        ask(lambda: executor.execute([Request("a")]))
        ask(lambda: executor.result(output, waiting))
        asking.join()
        ask(executor.check_health)
        assert rt.now() < TOLD_WITHIN_S
        executor.shutdown()
        assert [type(error) for error in told] == [PeerFailed] * 5, told
        assert all(CAUSE in str(error) for error in told), told
        assert str(executor.describe()) == "waiting 0, cached 0, unsplit 0, rpcs 0"

    exhaust(scenario)
