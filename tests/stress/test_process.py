"""The process of engine and clients, from outside: heard to its last whole line, ended, and nothing of it left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from omni_ipc.errors import EnvironmentMissing, Timeout
from omni_ipc.serving.results import Outcome
from omni_ipc.stress import process
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.messages import Ended, Found, Message, Order, Teller, Told
from omni_ipc.stress.process import ServedProcess, children
from omni_ipc.stress.settings import SoakConfig
from tests.support.waiting import until

ORDER = Order(SoakConfig(seconds=1.0, seed=11), 3)
SPEAKING = """
import json, os, sys
ledger_fd, pipe_fd = map(int, sys.argv[3:])
order = json.loads(sys.stdin.readline())
def say(text):
    os.write(pipe_fd, text.encode())
say(json.dumps({"type": "Failed", "at_s": 1.0, "number": order["number"], "sentence": str(order["config"]["seed"])}))
say("\\n")
"""
FAILED = "Failed(at_s=1.0, number=3, sentence='11')"


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with contextlib.closing(Ledger.create()) as made:
        yield made


@pytest.fixture
def serve(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Start a process that speaks as it is told to, in place of one with an engine."""
    with contextlib.ExitStack() as stack:

        def started(code: str) -> ServedProcess:
            launch = process.start_leashed
            monkeypatch.setattr(
                process,
                "start_leashed",
                lambda command, **how: launch([sys.executable, "-c", SPEAKING + code, *command[1:]], **how),
            )
            return stack.enter_context(ServedProcess(ORDER, ledger, tmp_path / "log"))

        yield started


Serve = Callable[[str], ServedProcess]


def heard(served: ServedProcess) -> list[str]:
    """Hear it to its end."""
    messages: list[Message] = []

    def has_ended() -> bool:
        ending = served.ending()
        messages.extend(served.hear(0.0 if ending else 0.05))
        return ending is not None

    until(has_ended)
    return [str(message) for message in messages]


def test_what_it_says_is_heard_to_the_last_whole_line(serve: Serve) -> None:
    """In order, however it was cut into pieces; what it was saying when it was killed is no message."""
    served = serve("""
say('{"type":"Found","at_s":2.0,"kind":"bytes",')
say('"sentence":"' + "x" * 200_000 + '"}' + chr(10) + '{"type":"Ended","number":')
os.kill(os.getpid(), 9)
""")
    failed, found = heard(served)
    assert failed == FAILED
    assert found == str(Found(2.0, "bytes", "x" * 200_000))
    assert (served.ending(), served.ended_well) == ("was killed by SIGKILL", False)


@pytest.mark.parametrize(("status", "well"), [(0, True), (3, False)])
def test_how_it_ended_is_told(status: int, well: bool, serve: Serve, tmp_path: Path) -> None:
    """And what it printed is in the log."""
    served = serve(f"print('by the way'); sys.exit({status})")
    assert heard(served) == [FAILED]
    assert (served.ending(), served.ended_well) == (f"ended with exit status {status}", well)
    assert (tmp_path / "log").read_text() == "by the way\n"


def test_it_is_asked_to_end_once_nobody_wants_more_and_killed_if_it_does_not(serve: Serve) -> None:
    """Its standard input ends then; closing it leaves neither a process nor a descriptor behind."""
    obedient = serve("sys.stdin.read()")
    assert obedient.ending() is None
    obedient.stop()
    assert heard(obedient) == [FAILED]
    assert obedient.ended_well
    stubborn = serve("sys.stdin.read(); import time; time.sleep(600)")
    stubborn.stop()
    assert stubborn.ending() is None
    assert Path(f"/proc/{stubborn.pid}").exists()


def test_one_that_is_over_before_it_was_told_what_to_do_is_told_of(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one without memory for its imports: no broken pipe, but an ending."""

    def fail(_: object, **how: Any) -> subprocess.Popen[str]:
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.exit(1)"], **how)
        child.wait()
        return child

    monkeypatch.setattr(process, "start_leashed", fail)
    with ServedProcess(ORDER, ledger, tmp_path / "log") as served:
        assert heard(served) == []
        assert served.ending() == "ended with exit status 1"


def test_one_that_cannot_be_started_is_told_in_a_sentence(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to look at; no pipe stays open."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(process, "start_leashed", refuse)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(EnvironmentMissing, match=r"cannot be started: Cannot allocate memory\. Free memory"):
        ServedProcess(ORDER, ledger, tmp_path / "log")
    assert os.listdir("/proc/self/fd") == before


def test_only_children_are_taken_for_its_workers() -> None:
    """An id may be somebody else's by now, or nobody's."""
    with subprocess.Popen(["sleep", "60"]) as child:
        named = {"worker 0": child.pid, "worker 1": os.getppid(), "worker 2": 1 << 30}
        assert children(os.getpid(), named) == {"worker 0": child.pid}
        child.send_signal(signal.SIGKILL)


def test_whoever_was_told_something_says_so_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same thing, that is: a thousand clients meet one death."""
    hears, tells = os.pipe()
    now_s = [10.0]
    monkeypatch.setattr("omni_ipc.stress.messages.time.monotonic", lambda: now_s[0])
    teller = Teller(tells)
    for late_s in (0.0, 0.5, 1.0):
        now_s[0] = 10.0 + late_s
        teller.told(Timeout("It did not come.\nLook at it."))
    teller.told(Timeout("Another one."))
    teller.forget()
    teller.told(Timeout("Another one."))
    teller.say(Ended(4, {"engine": 5}))
    os.close(tells)
    with open(hears, "rb") as pipe:
        told = [msgspec.json.decode(line, type=Message) for line in pipe]
    first = "Timeout: It did not come."
    assert told[:2] == [Told(10.0, Outcome.TIMED_OUT, first), Told(11.0, Outcome.TIMED_OUT, first)]
    assert told[2:] == [Told(11.0, Outcome.TIMED_OUT, "Timeout: Another one.")] * 2 + [Ended(4, {"engine": 5})]
