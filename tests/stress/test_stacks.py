"""Processes say where they stand, whatever they are in the middle of; those that cannot are told of, and live on."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omni_ipc.stress.stacks import ask, summary
from tests.support.lanes import ROOT

WAITING = """
import sys, threading
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.stress.stacks import answer

answer()
rt = NativeRuntime()
lock = threading.Lock()
lock.acquire()
threading.Thread(target=rt.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
lock.acquire()
"""
DEAF = "print('ready', flush=True); input()"

Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (path := tmp_path / "processes.log").write_text("what was printed before\n")
    return path


@pytest.fixture
def start(log: Path) -> Iterator[Start]:
    """Start a program that prints to the log, and wait until it is ready."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str) -> subprocess.Popen[str]:
        with open(log, "ab") as errors:
            process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
                text=True,
            )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_process_that_hangs_says_where(start: Start, log: Path) -> None:
    """Also if its main thread waits for a lock for ever; only what is ours is told, and that without the whole path."""
    process = start(WAITING)
    while not (line := ask({"worker 0": process.pid}, log)[0]).endswith(" sleep"):
        assert process.poll() is None, "it has yet to come there"
    assert line.startswith("worker 0: native.py:")
    assert process.poll() is None
    assert "most recent call first" in log.read_text()


def test_a_process_that_does_not_listen_lives_on(start: Start, log: Path) -> None:
    """The signal would end it; its state is told, as the kernel says it."""
    process = start(DEAF)
    (line,) = ask({"engine": process.pid}, log)
    assert line[:-1] == f"engine ({process.pid}) does not say where it stands; the state of its process is "
    assert line[-1] in "RS"
    assert process.poll() is None


def test_a_process_that_was_stopped_cannot_answer(start: Start, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is what there is to be known."""
    monkeypatch.setattr("omni_ipc.stress.stacks._ANSWER_S", 0.1)
    process = start(WAITING)
    process.send_signal(signal.SIGSTOP)
    while (state := Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]) != "T":
        assert state in "RS"
    (line,) = ask({"engine": process.pid}, log)
    assert line.endswith("the state of its process is T")


def test_a_process_that_has_ended_is_told_so(start: Start, log: Path) -> None:
    """Its id may be gone."""
    process = start(DEAF)
    process.kill()
    process.communicate()
    assert ask({"worker 1": process.pid}, log) == ("worker 1 has ended",)


def test_threads_that_stand_alike_are_one_line() -> None:
    """Innermost call first, and not more of them than say where it is."""
    frames = "".join(f'  File "/x/omni_ipc/a/f{number}.py", line {number} in g{number}\n' for number in range(9))
    printed = (
        f"Thread 0x1 (most recent call first):\n{frames}\nThread 0x2 (most recent call first):\n{frames}\n"
        'Thread 0x3 (most recent call first):\n  File "/lib/threading.py", line 5 in run\n\n'
        'Current thread 0x4 (most recent call first):\n  File "/x/omni_ipc/b/loop.py", line 8 in run\n'
    )
    assert [*summary(printed)] == ["2 x f0.py:0 g0 < f1.py:1 g1 < f2.py:2 g2 < f3.py:3 g3", "loop.py:8 run"]
