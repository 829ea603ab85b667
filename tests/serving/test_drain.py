"""Sleep, wake, what frees memory, and the end: each waits for outputs in flight, and never for ever."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from omni_ipc.device.host import HostDevice
from omni_ipc.errors import InternalError
from omni_ipc.records import Verdict
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.in_flight import InFlight, StillInFlight
from omni_ipc.serving.memory_state import MemoryState
from omni_ipc.serving.messages import (
    CallFailed,
    ComputeDone,
    ComputeFailed,
    Execute,
    OutputFailed,
    OutputReady,
    Reply,
    Returned,
)
from omni_ipc.serving.requests import Request
from omni_ipc.testbed import ControlledRuntime, explore
from tests.support.held_device import FailingDevice, HeldDevice
from tests.support.workers import PATIENCE_S, Bench, working

ONE = Request("a")


class Sleeper:
    """Notes what it was asked for; fails at the next sleep or wake if told to."""

    calls = frozenset({"count", "clear_cache"})
    frees = frozenset({"clear_cache"})

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        return [np.zeros(2) for _ in batch]

    def sleep(self, level: int) -> None:
        self._note(f"sleep {level}")

    def wake(self) -> None:
        self._note("wake")

    def clear_cache(self) -> None:
        self._note("clear")

    def count(self) -> int:
        return len(self.asked)

    def _note(self, what: str) -> None:
        self.asked.append(what)
        if self.fails:
            self.fails = False
            raise RuntimeError("no memory")


def check_refused(answer: Reply, *told: str) -> None:
    """Check that a call failed, and what it says."""
    assert isinstance(answer, CallFailed | ComputeFailed)
    for words in told:
        assert words in answer.error.message


def check_done(answer: Reply) -> None:
    """Check that a call came to its end."""
    assert isinstance(answer, Returned), answer


@contextmanager
def held_back(pipeline: Sleeper) -> Iterator[tuple[Bench, HeldDevice]]:
    """Run a worker with one output in flight, and so short a drain that it ends at once."""
    device = HeldDevice()
    with working(pipeline, device=device, drain_timeout_s=0.05) as bench:
        bench.execute(ONE)
        assert isinstance(bench.answer(), ComputeDone)
        try:
            yield bench, device
        finally:
            device.let_go()
            bench.output()


def test_a_drain_that_times_out_leaves_memory_alone_and_says_what_is_in_flight() -> None:
    """Sleep and what frees memory are refused in good time; the output comes whole, and then they are done."""
    pipeline = Sleeper()
    with held_back(pipeline) as (bench, _):
        for method, what in (("sleep", "sleep(level=1)"), ("clear_cache", "clear_cache()")):
            check_refused(
                bench.call(method),
                f"{what} was not done: 1 outputs ('1') were still in flight after 0.05 s.",
                "set drain_timeout_s to a larger value",
            )
        assert pipeline.asked == []
        assert bench.call("count").value == 0, "what frees nothing does not drain"  # type: ignore[union-attr]
    with held_back(pipeline) as (bench, device):
        device.let_go()
        check_done(bench.call("sleep", level=2))
        check_done(bench.call("clear_cache"))
    assert pipeline.asked == ["sleep 2", "clear"]


def test_what_sleeps_computes_nothing_until_it_wakes() -> None:
    """The call is refused with what to do, and afterwards it is as before."""
    with working(Sleeper()) as bench:
        check_done(bench.call("sleep", level=1))
        bench.execute(ONE)
        check_refused(bench.answer(), "The pipeline sleeps at level 1: its memory was given back. Call wake() first.")
        check_refused(bench.call("sleep", level=2), "sleeps at level 1")
        check_done(bench.call("wake"))
        bench.execute(ONE)
        assert isinstance(bench.answer(), ComputeDone)
        assert isinstance(bench.output()[0], OutputReady)


def test_whatever_takes_or_gives_memory_drains_before_and_what_does_not_does_not() -> None:
    """A wake as well as a sleep; a second one of either has nothing to wait for."""
    steps: list[str] = []
    pipeline = Sleeper()
    pipeline.asked = steps
    memory = MemoryState(pipeline, lambda what: steps.append(f"drain before {what}"))
    for change in (lambda: memory.sleep(2), lambda: memory.sleep(2), memory.wake, memory.wake, memory.require_awake):
        change()
    assert steps == ["drain before sleep(level=2)", "sleep 2", "drain before wake()", "wake"]


def test_a_second_sleep_or_wake_does_nothing() -> None:
    """The pipeline is asked once for each."""
    pipeline = Sleeper()
    with working(pipeline) as bench:
        for method in ("wake", "sleep", "sleep", "wake", "wake"):
            check_done(bench.call(method))
    assert pipeline.asked == ["sleep 1", "wake"]


def test_a_sleep_that_fails_half_way_is_told_until_a_wake_succeeds() -> None:
    """Neither a forward nor another sleep may meet memory of which nobody knows what it holds."""
    pipeline = Sleeper()
    with working(pipeline) as bench:
        pipeline.fails = True
        check_refused(bench.call("sleep"), "no memory")
        told = "sleep(level=1) failed half-way (RuntimeError: no memory), so the pipeline is neither asleep nor awake."
        bench.execute(ONE)
        check_refused(bench.answer(), told, "Call wake(), or start anew.")
        check_refused(bench.call("sleep"), told)
        pipeline.fails = True
        check_refused(bench.call("wake"), "no memory")
        check_refused(bench.call("sleep"), "wake() failed half-way")
        check_done(bench.call("wake"))
        bench.execute(ONE)
        assert isinstance(bench.answer(), ComputeDone)
        bench.output()
    assert pipeline.asked == ["sleep 1", "wake", "wake"]


@pytest.mark.parametrize("level", [0, 3, -1, "deep"])
def test_a_level_of_sleep_that_there_is_not_is_refused(level: object) -> None:
    """It is told with those that there are, and the pipeline stays awake."""
    with working(Sleeper()) as bench:
        check_refused(bench.call("sleep", level=level), f"There is no level {level!r} of sleep.", "Give 1")
        check_refused(bench.call("wake", tags=["weights"]), "unexpected keyword argument 'tags'")
        check_done(bench.call("sleep"))


def test_a_stop_waits_no_longer_than_the_drain_and_tells_what_it_left() -> None:
    """The device never comes to the output: its consumer gets an error, and whoever runs the worker hears of it."""
    device = HeldDevice()
    bench = Bench(Sleeper(), device, drain_timeout_s=0.05)
    bench.execute(ONE, Request("b"))
    bench.stop()
    done, failed = bench.rest()
    assert isinstance(done, ComputeDone)
    assert isinstance(failed, OutputFailed)
    assert (failed.output, failed.split) == ("1", True)
    assert "The worker was stopped: 1 outputs ('1') were still in flight after 0.05 s." in failed.error.message
    with pytest.raises(StillInFlight, match="Look at the device"):
        bench.ended.result(PATIENCE_S)
    device.let_go()
    bench.output()


def test_other_ranks_wait_for_their_device_and_announce_nothing() -> None:
    """Rank 1 answers, drains as rank 0 does, and tells only of what its device fails at."""
    with working(Sleeper(), device=FailingDevice(RuntimeError("device lost")), rank=1) as bench:
        for _ in range(2):
            bench.execute(ONE)
            done = bench.answer()
            assert isinstance(done, ComputeDone)
            assert done.rank == 1
        check_done(bench.call("sleep"))
    (failed,) = bench.rest_of_outputs()
    assert isinstance(failed, OutputFailed)
    assert failed.error.message == "device lost"
    device = HeldDevice()
    with working(Sleeper(), device=device, rank=1, drain_timeout_s=0.05) as bench:
        bench.execute(ONE)
        bench.answer()
        check_refused(bench.call("sleep"), "1 outputs ('1') were still in flight")
        device.let_go()


def test_an_error_of_the_device_takes_the_output_s_place() -> None:
    """The copy fails: an error, not silence; it is in flight no more, and the next output comes."""
    with working(Sleeper(), device=FailingDevice(RuntimeError("device lost"))) as bench:
        for expected in (OutputFailed, OutputReady):
            bench.execute(ONE)
            bench.answer()
            said, _ = bench.output()
            assert isinstance(said, expected)
        check_done(bench.call("sleep"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_without_its_output_thread_ends_and_says_so() -> None:
    """Nobody would announce what it computes, so it computes nothing more; what has ended it is told first."""
    bench = Bench(Sleeper(), FailingDevice(SystemExit()), drain_timeout_s=0.05, poll_s=0.01)
    bench.execute(ONE)
    with pytest.raises(InternalError, match="output thread died of SystemExit"):
        bench.ended.result(PATIENCE_S)
    assert [type(error) for error in bench.failing] == [SystemExit, InternalError]
    assert isinstance(bench.answer(), ComputeDone)
    assert not bench.has_goodbye()


def test_what_is_in_flight_is_never_less_than_nothing() -> None:
    """Who is counted off twice is an error of ours, and not a drain that ends too early."""
    in_flight = InFlight(rt=NativeRuntime())
    first, second = (Execute(number, 1, str(number), (ONE,), split=False) for number in (1, 2))
    in_flight.add(first)
    in_flight.settle(first)
    in_flight.add(second)
    with pytest.raises(InternalError, match="Output '1' is not in flight"):
        in_flight.settle(first)
    assert in_flight.drain(0) == (second,)
    in_flight.settle(second)
    assert in_flight.drain(0) == ()


def test_a_drain_ends_with_the_last_output_and_not_with_its_time() -> None:
    """In every order: counted off before, while or after somebody drains."""

    def scenario(rt: ControlledRuntime) -> float:
        in_flight = InFlight(rt=rt)
        jobs = [Execute(number, 1, str(number), (ONE,), split=False) for number in (1, 2)]
        for job in jobs:
            in_flight.add(job)
        tasks = [rt.spawn(in_flight.settle, job, name=f"output {job.output}") for job in jobs]
        assert in_flight.drain(1000) == ()
        for task in tasks:
            task.join()
        return rt.now()

    report = explore(scenario, strategy="dpor")
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("0.0",))


def test_a_host_event_needs_no_drain() -> None:
    """What the host has computed is done: a sleep behind it comes to its end."""
    with working(Sleeper(), device=HostDevice()) as bench:
        bench.execute(ONE)
        bench.answer()
        check_done(bench.call("sleep"))
        assert isinstance(bench.output()[0], OutputReady)
