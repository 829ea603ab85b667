"""What a user may rely on: each sentence of docs/protocol.md's contract, on real worker processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omni_ipc.errors import Aborted, OmniError, PeerFailed, ShutdownError, Timeout
from omni_ipc.serving import lanes
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome
from omni_ipc.transport import liveness
from tests.serving.contract.engines import DEVICES, MODEL, NOTHING, held_slots, is_idle, is_output_of, start
from tests.support.lanes import ROOT, RT
from tests.support.waiting import again, until, within


@pytest.fixture
def hosts() -> Iterator[HostGroup]:
    with HostGroup() as hosts:
        yield hosts


@DEVICES
def test_1_each_admitted_request_ends_in_exactly_one_outcome(hosts: HostGroup, device: str) -> None:
    """Result, error, aborted, timed out, shut down: one of each, told to its own consumer, counted once."""
    engine = start(hosts, device=device, max_batch=1, shutdown_timeout_s=1, rpc_timeout_s=2.5, drain_timeout_s=0.5)
    assert is_output_of("result", engine.generate(Request("result")))
    with pytest.raises(PeerFailed, match="RuntimeError: out of memory"):
        engine.generate(Request("error", "raise"))
    busy = engine.submit(Request("busy", options={"forward_s": 0.3}))
    aborted = engine.submit(Request("aborted"))
    assert engine.abort("aborted") == 1
    assert engine.abort("aborted") == 0
    with pytest.raises(Aborted, match="Request 'aborted' was aborted"):
        aborted.result()
    assert is_output_of("busy", busy.result())
    hung = engine.submit(Request("hung", "hang"))
    with pytest.raises(Timeout, match=r"rpc_timeout_s to a larger value"):
        hung.result()
    waiting = engine.submit(Request("waiting"))
    assert not engine.shutdown()
    with pytest.raises(ShutdownError):
        waiting.result()
    ended = engine.statistics().ended
    assert ended == {
        Outcome.RESULT: 2,
        Outcome.ERROR: 1,
        Outcome.ABORTED: 1,
        Outcome.TIMED_OUT: 1,
        Outcome.SHUT_DOWN: 1,
    }
    assert engine.statistics().admitted == 6


@DEVICES
def test_2_an_output_is_delivered_or_dropped_and_nothing_else_holds_it(hosts: HostGroup, device: str) -> None:
    """Streams that are taken, closed, deleted, aborted before and after the forward; then the engine holds nothing."""
    with start(hosts, device=device, max_batch=4) as engine:
        for cycle in range(8):
            streams = [engine.submit(Request(f"{cycle}.{number}")) for number in range(8)]
            assert is_output_of(f"{cycle}.0", streams[0].result())
            streams[1].close()
            del streams[2:4]
            engine.abort(f"{cycle}.6")
            until(lambda: engine.describe().waiting == 0)
            engine.abort(f"{cycle}.7")
            kept = [stream.result() for stream in streams[2:4]]
            assert [output.request_id for output in kept] == [f"{cycle}.4", f"{cycle}.5"]
            assert len(held_slots(engine)) >= 2, "whoever has an output looks at the worker's memory"
            del kept, streams
        until(lambda: is_idle(engine))
        counted = engine.statistics().ended
        assert counted[Outcome.RESULT] == 3 * 8
        assert counted[Outcome.ABORTED] == 5 * 8


@DEVICES
def test_3_messages_arrive_in_order_once_and_unaltered(hosts: HostGroup, device: str) -> None:
    """Inputs of all sizes on the way there, outputs of all sizes on the way back."""
    with start(hosts, device=device, max_batch=3) as engine:
        sizes = [0, 1, 4096, 70_000, 3 << 20, 1 << 26, 17]
        inputs = {"picture": np.arange(200_000, dtype=np.int64)}
        streams = [
            engine.submit(Request(f"{number}", options={"nbytes": nbytes}, inputs=inputs))
            for number, nbytes in enumerate(sizes)
        ]
        for number, nbytes in enumerate(sizes):
            assert is_output_of(f"{number}", streams[number].result(), nbytes)


LARGE = pytest.mark.parametrize(
    "nbytes", [100_000_000, *(pytest.param(n, marks=pytest.mark.soak) for n in (2_000_000_000, 2_500_000_000))]
)
"""Bytes that find a slot on the way to the workers, and that find none, larger than any."""


@LARGE
def test_3_a_large_request_takes_the_same_way_as_any_other(nbytes: int) -> None:
    """Whole, to all ranks: it lies in the engine's slab once, or goes to each of them in pieces."""
    with HostGroup(2) as hosts, start(hosts, workers=2) as engine:
        picture = np.zeros(nbytes, np.uint8)
        picture[0], picture[nbytes // 2], picture[-1] = 3, 5, 7
        value = engine.generate(Request("large", "measure", inputs={"picture": picture})).value
        assert value == {"nbytes": nbytes, "seen": [3, 5, 7]}
        del picture
        assert is_output_of("small", engine.generate(Request("small")))


@LARGE
def test_3_an_output_larger_than_any_slot_comes_whole(hosts: HostGroup, nbytes: int) -> None:
    """In pieces, through the lane."""
    with start(hosts) as engine:
        assert engine.generate(Request("large", "zeros", {"zeros": nbytes})).value.nbytes == nbytes


def test_3_a_batch_of_more_inputs_than_there_are_slots_reaches_all_ranks() -> None:
    """What finds none goes beside the others, in pieces; nobody in the batch fails of it."""
    with HostGroup(2) as hosts, start(hosts, workers=2, max_batch=40) as engine:
        for pid in hosts.pids:
            os.kill(pid, signal.SIGSTOP)
        first = engine.submit(Request("first"))
        until(lambda: engine.describe().waiting == 0)
        streams = [
            engine.submit(Request(f"{number}", "measure", inputs={"picture": np.full(3_000_000, number, np.uint8)}))
            for number in range(40)
        ]
        for pid in hosts.pids:
            os.kill(pid, signal.SIGCONT)
        first.result()
        values = [stream.result().value for stream in streams]
        assert values == [{"nbytes": 3_000_000, "seen": [number] * 3} for number in range(40)]
        assert engine.statistics().batches == 2


def test_3_a_writer_that_meets_a_full_queue_waits_and_then_gets_an_error(
    hosts: HostGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that stands still takes nothing: what finds no room fails; what was sent is answered once it goes on."""
    monkeypatch.setattr(lanes, "SEND_TIMEOUT_S", 0.2)
    told: list[str] = []

    def call() -> None:
        try:
            engine.call("no_such_method", blob="x" * 1_000_000)
        except OmniError as error:
            told.append(f"{type(error).__name__}: {error}")

    with start(hosts) as engine:
        os.kill(hosts.pids[0], signal.SIGSTOP)
        callers = [RT.spawn(call, name=f"caller {number}") for number in range(12)]
        until(lambda: any(line.startswith("Full: ") for line in told))
        os.kill(hosts.pids[0], signal.SIGCONT)
        for caller in callers:
            caller.join(30)
        refused = [line for line in told if line.startswith("Full: ")]
        answered = [line for line in told if "no callable method 'no_such_method'" in line]
        assert len(refused) + len(answered) == 12, told
        assert refused
        assert answered
        assert "its reader took nothing in time" in refused[0]
        assert is_output_of("after", engine.generate(Request("after")))


_ENGINE = f"""
import signal
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request
engine = Engine(EngineConfig(), PipelineSpec("{MODEL}"))
kept = engine.generate(Request("kept"))
pending = engine.submit(Request("pending", "hang"))
print(*engine.pids, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("victim", ["engine", "everybody"])
def test_5_after_a_crash_no_memory_outlives_the_processes(victim: str) -> None:
    """SIGKILL to the engine, in the middle of a forward, or to its workers as well: nothing is in /dev/shm, ever."""
    shared = set(Path("/dev/shm").iterdir())
    with subprocess.Popen([sys.executable, "-c", _ENGINE], cwd=ROOT, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        (worker,) = map(int, engine.stdout.readline().split())
        pidfd = os.pidfd_open(worker)
        try:
            assert set(Path("/dev/shm").iterdir()) == shared
            if victim == "everybody":
                os.kill(worker, signal.SIGKILL)
            engine.kill()
            assert liveness.has_ended(pidfd, within_ms=10_000)
        finally:
            os.close(pidfd)
            engine.kill()
    assert set(Path("/dev/shm").iterdir()) == shared


def segments() -> int:
    """Count the pieces of shared memory that this process has mapped."""
    return Path("/proc/self/maps").read_text().count("/memfd:")


@DEVICES
@pytest.mark.parametrize("prompt", ["", "hang"])
def test_6_shutdown_ends_in_bounded_time_and_leaves_nothing(hosts: HostGroup, prompt: str, device: str) -> None:
    """Whether a forward hangs or not: no future is pending, no thread runs, and the worker is gone."""
    before, memory = {thread.ident for thread in threading.enumerate()}, segments()
    engine = start(hosts, device=device, shutdown_timeout_s=0.5, max_batch=1)
    streams = [engine.submit(Request(f"{number}", prompt)) for number in range(4)]
    outcomes: list[str] = []

    def take(stream: Any) -> None:
        try:
            stream.result()
            outcomes.append("result")
        except OmniError as error:
            outcomes.append(type(error).__name__)

    until(lambda: engine.describe().waiting <= 3)  # one is being computed, or was
    takers = [RT.spawn(take, stream, name="taker") for stream in streams]
    with within(10):
        goodbye = engine.shutdown()
    assert goodbye == (not prompt)
    assert goodbye or not Path(f"/proc/{hosts.pids[0]}").exists(), "it was killed, and reaped"
    for taker in takers:
        taker.join(10)
    assert len(outcomes) == 4
    assert set(outcomes) <= {"result", "ShutdownError"}
    assert str(engine.describe().executor) == NOTHING
    until(lambda: {thread.ident for thread in threading.enumerate()} <= before)
    del streams, takers
    assert segments() == memory, "they are gone, though somebody still has the engine"
    with within(2):
        for refused in (lambda: engine.submit(Request("late")), lambda: engine.call("clear_cache"), engine.sleep):
            with pytest.raises(ShutdownError):
                refused()
        assert engine.shutdown() == goodbye


def test_7_no_byte_from_another_process_is_executed_or_unpickled(hosts: HostGroup) -> None:
    """What is no plain tree of arrays is refused at its sender; a pickle arrives as the bytes that it is."""
    with start(hosts) as engine:
        with pytest.raises(PeerFailed, match="which cannot travel"):
            engine.generate(Request("evil", "unfit"))
        output = engine.generate(Request("bytes", "pickle"))
        assert b"_exit" in output.value["bytes"]
        assert is_output_of("after", engine.generate(Request("after")))
        engine.check_health()


def test_two_engines_in_one_process_know_nothing_of_each_other() -> None:
    """One dies, the other serves; the same request ids in both."""
    with HostGroup() as one, HostGroup() as other, start(one) as dying, start(other) as living:
        assert is_output_of("a", dying.generate(Request("a")))
        os.kill(one.pids[0], signal.SIGKILL)
        with pytest.raises(OmniError, match="killed by SIGKILL"):
            again(lambda: dying.generate(Request("a")))
        assert is_output_of("a", living.generate(Request("a")))
        living.check_health()


def test_the_output_timeout_is_told_with_what_was_pending(hosts: HostGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forward is done and the output does not come: the error names the setting, its value, and what is pending."""
    monkeypatch.setenv("OMNI_IPC_OUTPUT_TIMEOUT", "0.4")
    with start(hosts, drain_timeout_s=0.2, output_timeout_s=5) as engine:
        assert is_output_of("a", engine.generate(Request("a")))
        began = time.monotonic()
        future = engine._executor.wait(engine._executor.mint(1).output)  # type: ignore[attr-defined]
        with pytest.raises(Timeout, match=r"Pending: waiting 1 .*OMNI_IPC_OUTPUT_TIMEOUT=0\.4 to a larger value"):
            engine._executor.result("2", future)  # type: ignore[attr-defined]
        assert time.monotonic() - began < 5
