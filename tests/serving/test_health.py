"""Health: what is dead or stuck is told, at once, to everybody who asked, once."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from omni_ipc.errors import InternalError, OmniError, PeerDied, ShutdownError, Timeout
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Future
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.health import Health
from omni_ipc.serving.messages import OutputReady, Returned
from omni_ipc.serving.monitor import Monitor
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.testbed import ControlledRuntime, explore
from tests.support.scripted import PATIENT, Scripted, scripted

RT = NativeRuntime()
DIED = PeerDied("The worker process 7", "killed by SIGKILL")


# Callbacks


def test_a_callback_is_called_once_in_every_order_with_the_failure() -> None:
    """Registered before, while and after it happens, with two who find it at the same time."""

    def scenario(rt: ControlledRuntime) -> str:
        health, told = Health(rt=rt), []
        tasks = [
            rt.spawn(health.fail, PeerDied("One worker", "it is gone"), name="pump"),
            rt.spawn(health.fail, PeerDied("Another worker", "it is gone"), name="monitor"),
            rt.spawn(health.on_failure, lambda error: told.append(str(error)), name="engine"),
        ]
        for task in tasks:
            task.join()
        assert len(told) == 1
        failure = health.failure()
        assert failure is not None
        assert told == [str(failure)]
        return told[0].split()[0]

    report = explore(scenario)
    assert (report.verdict, report.failure) == (Verdict.HOLDS, None)
    assert set(report.outcomes) == {"'One'", "'Another'"}


def test_a_callback_that_raises_keeps_no_other_from_being_told(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, whether it came before the failure or after it."""
    health, told = Health(rt=RT), []

    def bad(error: OmniError) -> None:
        raise RuntimeError("no pager")

    health.on_failure(bad)
    health.on_failure(told.append)
    with caplog.at_level(logging.ERROR):
        health.fail(DIED)
        health.on_failure(bad)
    assert told == [DIED]
    assert len([record for record in caplog.records if "killed by SIGKILL" in record.getMessage()]) == 2


def test_when_a_callback_is_called_nothing_is_pending_any_more() -> None:
    """Neither a wait nor a call; and health is bad already."""
    executor, link = scripted(RT)
    waiting = executor.wait(executor.mint(1).output)
    seen: list[tuple[bool, str]] = []
    called = RT.event()

    def note(error: OmniError) -> None:
        with pytest.raises(PeerDied):
            executor.check_health()
        seen.append((waiting.done(), str(executor.describe())))
        called.set()

    executor.on_failure(note)
    executor.start()
    link.deaths[0] = DIED
    assert called.wait(10)
    assert seen == [(True, "waiting 0, cached 0, unsplit 0, rpcs 0")]
    executor.shutdown()
    assert len(seen) == 1


def test_a_shutdown_is_no_failure() -> None:
    """Nobody is told; but health is not good any more, and says why."""
    executor, link = scripted(RT)
    told: list[OmniError] = []
    executor.on_failure(told.append)
    executor.start()
    executor.check_health()
    worker = RT.spawn(link.serve, name="worker")
    assert executor.shutdown()
    worker.join()
    assert told == []
    with pytest.raises(ShutdownError, match="Start a new one"):
        executor.check_health()


# Workers


def test_a_dead_worker_is_bad_health_at_once_and_later() -> None:
    """Before the pump has noticed, and after; with the name of the signal each time."""
    executor, link = scripted(RT, ranks=2)
    executor.check_health()
    link.deaths[1] = DIED
    for start in (lambda: None, executor.start, lambda: None):
        start()
        with pytest.raises(PeerDied, match="killed by SIGKILL"):
            executor.check_health()
    executor.shutdown()


def test_a_worker_that_owes_an_answer_counts_as_stuck_until_it_says_anything() -> None:
    """Its late answer makes it well again, though nobody wants it."""
    executor, link = scripted(RT, ranks=2)
    executor.start()
    with pytest.raises(Timeout, match="Of 2 workers, rank 0, 1 did not answer"):
        executor.call("echo", timeout_s=0.01)
    call = link.hear_call()
    with pytest.raises(Timeout, match="The worker of rank 0 is stuck: it has not answered call 1"):
        executor.check_health()
    for rank in range(2):
        link.say(Returned(call.rpc, call.epoch, rank, "late"))
    until_discarded(executor, 2)
    executor.check_health()
    link.say_goodbye()
    executor.shutdown()


def until_discarded(executor: Executor, answers: int) -> None:
    """Wait until the pump has taken so many late answers."""
    deadline = RT.now() + 10
    while executor.statistics().discarded_answers < answers:
        assert RT.now() < deadline
        RT.sleep(0.002)


# The pump


class Blocking(OutputTable):
    """A table whose lock somebody holds, as a pump that is stuck in a callback would."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.inside, self.go_on = RT.event(), RT.event()

    def deliver(self, output: str, value: object) -> None:
        self.inside.set()
        self.go_on.wait(30)
        super().deliver(output, value)


def test_a_pump_that_is_stuck_is_bad_health_and_fails_what_is_pending() -> None:
    """The monitor finds it: nobody else can tell, for the one that would is stuck."""
    table = Blocking(rt=RT)
    config = msgspec.structs.replace(PATIENT, pump_timeout_s=0.05, shutdown_timeout_s=0.05)
    executor, link = scripted(RT, config=config, table=table)
    executor.start()
    first: Future[Any] = executor.wait(executor.mint(1).output)
    second: Future[Any] = executor.wait(executor.mint(1).output)
    told: list[OmniError] = []
    executor.on_failure(told.append)
    monitor = Monitor(rt=RT, look=executor.look, every_s=0.01)
    monitor.start()
    link.say(OutputReady("1", split=False), "picture")
    assert table.inside.wait(10)
    for future in (first, second):
        with pytest.raises(InternalError, match="The result pump is stuck: it has been busy with one message for"):
            future.result(10)
    with pytest.raises(InternalError, match=r"set pump_timeout_s to a larger value than 0\.05"):
        executor.check_health()
    assert monitor.stop(10)
    assert not executor.shutdown()
    table.go_on.set()
    executor.shutdown()
    assert len(told) == 1
    executor._pumping.finish(10)


class Clock(NativeRuntime):
    """Its time goes on when the test lets it."""

    at_s = 0.0

    def now(self) -> float:
        return self.at_s


def test_time_in_which_the_whole_process_stood_still_makes_no_pump_stuck() -> None:
    """Behind Ctrl-Z and `fg`, or a frozen cgroup, the monitor looks first; only time that it saw pass counts."""
    clock = Clock()
    table = Blocking(rt=RT)
    link = Scripted(RT)
    executor = Executor(rt=clock, link=link, table=table, config=PATIENT)

    def look_for(seconds: float, every_s: float) -> None:
        for _ in range(round(seconds / every_s)):
            clock.at_s += every_s
            executor.look()

    executor.start()
    output = executor.wait(executor.mint(1).output)
    link.say(OutputReady("1", split=False), "picture")
    assert table.inside.wait(10)
    for _ in range(3):
        look_for(PATIENT.pump_timeout_s / 4, PATIENT.poll_s)
        look_for(40, 40)
        executor.check_health()
    look_for(PATIENT.pump_timeout_s / 4, PATIENT.poll_s)
    with pytest.raises(InternalError, match=r"The result pump is stuck: it has been busy with one message for 30\.0 s"):
        output.result(0)
    table.go_on.set()
    link.say_goodbye()
    assert executor._pumping.finish(10)


def test_a_pump_that_is_dead_is_bad_health() -> None:
    """Its error says of what it died, and the traceback is in it."""
    executor, link = scripted(RT)
    told: list[OmniError] = []
    executor.on_failure(told.append)
    boom = RuntimeError("no memory")

    def fail(timeout: float) -> object:
        raise boom

    link.results.receive = fail  # type: ignore[assignment, method-assign]
    executor.start()
    assert executor._pumping.finish(10)
    with pytest.raises(InternalError, match="The result pump died of RuntimeError: no memory"):
        executor.check_health()
    assert [error.__cause__ for error in told] == [boom]
    with pytest.raises(InternalError):
        executor.mint(1)
    executor.shutdown()


def test_a_monitor_ends_when_it_is_told_to() -> None:
    """Before its first look, in between, and without a start."""
    looks: list[int] = []
    looked = RT.event()

    def look() -> None:
        looks.append(1)
        looked.set()

    idle, busy, never = (Monitor(rt=RT, look=look, every_s=every_s) for every_s in (3600, 0.001, 1))
    idle.start()
    assert idle.stop(10)
    assert looks == []
    busy.start()
    assert looked.wait(10)
    assert busy.stop(10)
    assert never.stop(0)


def test_in_step_execution_the_monitor_finds_a_death_between_two_steps() -> None:
    """There is no pump that could, and nobody waits."""
    executor, link = scripted(RT, config=msgspec.structs.replace(PATIENT, step_execution=True))
    told: list[OmniError] = []
    executor.on_failure(told.append)
    executor.look()
    assert told == []
    link.deaths[0] = DIED
    executor.look()
    executor.look()
    assert told == [DIED]
    link.say_goodbye()
    executor.shutdown()
