"""Hostile models, users and surroundings, on real processes: each costs itself, and is told in a sentence."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omni_ipc.errors import OmniError, PeerFailed, ShutdownError, UsageError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.requests import Request
from tests.serving.contract.engines import holds_nothing
from tests.support.lanes import ROOT
from tests.support.waiting import until, within

UNFRIENDLY = "tests.serving.contract.hostile:Unfriendly"


def start(hosts: HostGroup, options: Any = None, **config: Any) -> Engine:
    return Engine(EngineConfig(**config), PipelineSpec(UNFRIENDLY, {"options": options}), hosts=hosts)


def run(program: str, shell: str = '"$0" -c "$1"') -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    command = ["sh", "-c", shell, sys.executable, f"from tests.serving.contract.test_hostile import *\n{program}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_a_request_that_cannot_be_sent_harms_nobody_in_its_batch(hosts: HostGroup) -> None:
    """It is refused at the call; the worker, the dispatcher and the requests beside it go on."""
    with start(hosts) as engine:
        streams = [engine.submit(Request("first", "slow"))]
        for bad in (Request(5), Request("x", options={"a": [1]}), Request("\ud800"), None):  # type: ignore[arg-type,dict-item]
            with pytest.raises(UsageError, match=r"cannot be sent|is no request"):
                engine.submit(bad)  # type: ignore[arg-type]
            streams.append(engine.submit(Request("beside it")))
        with pytest.raises(UsageError, match=r"5\(\) cannot be called so"):
            engine.call(5)  # type: ignore[arg-type]
        assert [stream.result().value for stream in streams] == [engine.pids[0]] * 5
        engine.check_health()


def test_an_output_that_raises_when_it_is_looked_at_fails_alone(hosts: HostGroup) -> None:
    """Its error is its own, and the batch is delivered."""
    with start(hosts, max_batch=4) as engine:
        first = engine.submit(Request("first", "slow"))
        until(lambda: engine.describe().waiting == 0)
        streams = [engine.submit(Request(prompt, prompt)) for prompt in ("", "evil", "")]
        first.close()
        with pytest.raises(PeerFailed, match="RuntimeError: do not look"):
            streams[1].result()
        assert [streams[place].result().value for place in (0, 2)] == [engine.pids[0]] * 2


@pytest.mark.parametrize("prompt", ["fork", "fork and exit"])
def test_a_child_that_a_forward_forked_never_answers_for_it(hosts: HostGroup, prompt: str) -> None:
    """It ends when it comes back; the answer is the worker's own, and one."""
    with start(hosts, rpc_timeout_s=20) as engine:
        assert engine.generate(Request("a", prompt)).value == engine.pids[0]
        assert engine.generate(Request("b")).value == engine.pids[0]
        assert engine.shutdown()


def test_options_of_a_pipeline_arrive_as_they_are(hosts: HostGroup) -> None:
    """No number becomes nothing, and no key a text; what cannot travel, or is too much, is refused."""
    options = {"scale": math.inf, 3: b"bytes", "deep": [1.5, {"x": None}]}
    with start(hosts, options) as engine:
        assert engine.call("echo") == [options]
    with pytest.raises(UsageError, match="type object is unsupported"):
        start(hosts, object())
    with within(10), pytest.raises(UsageError, match=r"Unfriendly' take 100,\d+ bytes, and 65,536 is the most"):
        start(hosts, "x" * 100_000)


def test_a_stopped_worker_is_bad_health_until_it_goes_on(hosts: HostGroup) -> None:
    """At once, though nobody waits for it; and a shutdown does not wait for it for ever."""
    engine = start(hosts, shutdown_timeout_s=0.5)
    try:
        engine.check_health()
        os.kill(engine.pids[0], signal.SIGSTOP)
        until(lambda: _health(engine).startswith(f"The worker process {engine.pids[0]} was stopped by SIGSTOP"))
        assert f"kill -CONT {engine.pids[0]}" in _health(engine)
        os.kill(engine.pids[0], signal.SIGCONT)
        until(lambda: _health(engine) == "good")
        assert engine.generate(Request("a")).value == engine.pids[0]
        os.kill(engine.pids[0], signal.SIGSTOP)
    finally:
        with within(20):
            assert not engine.shutdown()


def test_a_worker_that_said_goodbye_and_does_not_end_is_killed(hosts: HostGroup) -> None:
    """By the deadline of the shutdown, which waits for its end by then."""
    engine = start(hosts, "linger", shutdown_timeout_s=0.5)
    with within(20):
        assert not engine.shutdown()
    assert not Path(f"/proc/{engine.pids[0]}").exists()


def test_a_shutdown_ends_who_waits_for_room_of_a_worker_that_takes_nothing(hosts: HostGroup) -> None:
    """Callers that fill its lane get an error of ours, within the shutdown's own bound, and not the lane's."""
    rt = NativeRuntime()
    told: list[OmniError] = []
    engine = start(hosts, shutdown_timeout_s=0.5)
    os.kill(engine.pids[0], signal.SIGSTOP)

    def call() -> None:
        with pytest.raises(OmniError) as caught:
            engine.call("echo", value="x" * 3_000_000)
        told.append(caught.value)

    callers = [rt.spawn(call, name="caller") for _ in range(6)]
    until(lambda: str(engine.describe().executor).count(",") > 3)  # they have begun
    with within(30):
        assert not engine.shutdown()
        for caller in callers:
            caller.join()
    assert len(told) == 6


def test_a_signal_handler_may_shut_the_engine_down_while_it_shuts_down(hosts: HostGroup, tmp_path: Path) -> None:
    """Neither of the two calls waits for the other for ever, and both tell the same."""
    goodbyes: list[bool] = []
    engine = start(hosts)

    def handle(number: int, frame: types.FrameType | None) -> None:
        (tmp_path / "now").touch()
        goodbyes.append(engine.shutdown())

    before = signal.signal(signal.SIGALRM, handle)
    try:
        stream = engine.submit(Request("a", "wait", {"for": str(tmp_path / "now")}))
        until(lambda: engine.describe().waiting == 0)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with within(60):
            goodbyes.append(engine.shutdown())
        until(lambda: len(goodbyes) == 2)
        assert goodbyes == [True, True]
        assert stream.result().value == engine.pids[0]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _interrupted_shutdown(engine: Engine) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    engine.shutdown()


def test_a_shutdown_that_is_interrupted_goes_on(hosts: HostGroup, tmp_path: Path) -> None:
    """Nothing is left half-way: what was being computed arrives, and is there for whoever asks behind it."""
    engine = start(hosts)

    def interrupt(number: int, frame: types.FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        stream = engine.submit(Request("a", "wait", {"for": str(tmp_path / "now")}))
        until(lambda: engine.describe().waiting == 0)
        with pytest.raises(KeyboardInterrupt):
            _interrupted_shutdown(engine)
        (tmp_path / "now").touch()
        assert engine.shutdown()
        assert stream.result().value == engine.pids[0]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_process_that_was_forked_off_has_no_engine_and_leaves_its_parents_alone() -> None:
    """Every call is refused there, or does nothing; also at the end of a `with` that both are in."""
    done = run(
        "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n"  # of Python: it forks beside threads
        f"with Engine(EngineConfig(), {UNFRIENDLY!r}) as engine:\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        for call in (lambda: engine.submit(Request('a')), lambda: engine.call('echo'), engine.check_health):\n"
        "            with pytest.raises(UsageError, match='was forked off it'):\n"
        "                call()\n"
        "        sys.exit(5)\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "    print(engine.generate(Request('b')).value == engine.pids[0], engine.shutdown())\n"
    )
    assert (done.stdout, done.stderr) == ("5\nTrue True\n", "")


def test_an_engine_may_be_shut_down_as_its_interpreter_ends() -> None:
    """No thread can be started there any more; one that was never shut down ends with its process."""
    start = f"import atexit; engine = Engine(EngineConfig(), {UNFRIENDLY!r}); engine.generate(Request('a')); "
    done = run(f"{start} atexit.register(lambda: print(engine.shutdown()))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    done = run(f"{start} stream = engine.submit(Request('b', 'slow')); print(engine.pids[0])")
    assert (done.returncode, done.stderr) == (0, "")
    until(lambda: not Path(f"/proc/{done.stdout.strip()}").exists())


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_take_nothing_of_the_engine_with_them(closed: str) -> None:
    """What a model prints goes nowhere, least of all into a socket or memory that has got the number."""
    done = run(
        f"with Engine(EngineConfig(), {UNFRIENDLY!r}) as engine:\n"
        "    good = [engine.generate(Request('a', 'print')).value for _ in range(3)] == [*engine.pids * 3]\n"
        "    os._exit(7 if good and engine.shutdown() else 8)\n",
        f'"$0" -c "$1" {closed}',
    )
    assert done.returncode == 7, done.stderr


def test_a_model_that_closes_every_descriptor_ends_its_process_with_a_sentence() -> None:
    """What is computed still comes, for memory stays mapped; at the end the process says why it cannot go on."""
    done = run(
        f"with Engine(EngineConfig(), {UNFRIENDLY!r}) as engine:\n"
        "    served = [engine.generate(Request('a', prompt)).value for prompt in ('close', '')]\n"
        "    print(served == [*engine.pids * 2], engine.shutdown())\n"
    )
    assert done.stdout == "True False\n"
    assert "Traceback" not in done.stderr
    assert "its model has closed descriptors that are not its own" in done.stderr
    assert "ended with exit status 1" in done.stderr


def test_a_process_without_descriptors_is_told_what_it_lacks() -> None:
    """And keeps none for what could not be started."""
    done = run(
        "import resource\n"
        "before = os.listdir('/proc/self/fd')\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "for most in range(len(before), len(before) + 12):\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))\n"
        "    with pytest.raises(OmniError, match=r'Too many open files.*ulimit -a'):\n"
        f"        Engine(EngineConfig(), {UNFRIENDLY!r})\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\n"
        "assert os.listdir('/proc/self/fd') == before\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_hosts_serve_one_engine_at_a_time() -> None:
    """A second one is refused, and takes nothing from the first; so is one after the hosts were stopped."""
    with HostGroup() as hosts:
        with start(hosts) as engine:
            with pytest.raises(UsageError, match=rf"The processes {engine.pids[0]} serve another engine"):
                start(hosts)
            assert engine.generate(Request("a")).value == engine.pids[0]
        with start(hosts) as second:
            assert second.generate(Request("a")).value == hosts.pids[0]
    with pytest.raises(UsageError, match=r"These hosts were stopped"):
        start(hosts)


def test_what_is_refused_behind_a_shutdown_is_refused_at_once(hosts: HostGroup) -> None:
    """Calls of all kinds, each with the same sentence; and nothing is pending."""
    engine = start(hosts)
    assert engine.shutdown()
    for call in (lambda: engine.submit(Request("a")), engine.sleep, engine.wake, engine.check_health):
        with within(5), pytest.raises(ShutdownError, match=r"shut"):
            call()
    assert holds_nothing(engine)


def _health(engine: Engine) -> str:
    try:
        engine.check_health()
    except OmniError as error:
        return str(error)
    return "good"


@pytest.fixture
def hosts() -> Iterator[HostGroup]:
    with HostGroup() as hosts:
        yield hosts
