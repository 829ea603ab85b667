"""Scenarios that block or die in C code, where no Python can help: it is told where, and nobody waits for ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENEROUS_S = 90.0

MINE = """
import ctypes
import threading
import time

import pytest

def beside(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()

def lock_twice(libc):
    mutex = (ctypes.c_char * 64)()
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)  # which no signal ends

def held():
    beside(lock_twice, ctypes.PyDLL(None))  # with the interpreter's lock

def released():
    beside(lock_twice, ctypes.CDLL(None))

def for_a_while(libc, until=int(time.time()) + 5):
    mutex = (ctypes.c_char * 64)()
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_timedlock(mutex, (ctypes.c_long * 2)(until, 0))

def late():
    beside(for_a_while, ctypes.PyDLL(None))

def crash():
    beside(ctypes.string_at, 0)

def endless():
    while True:
        pass

@pytest.mark.interleave
def test_held():
    held()

@pytest.mark.interleave
def test_fine():
    beside(len, "")
"""

QUICK = "import sys; from omni_ipc.testbed import alarm, watchdog; alarm.PATIENCE_S = {patience_s}; "


def command(body: str, folder: Path, patience_s: float = 1.0) -> subprocess.Popen[str]:
    """Start a program that has a user's file beside it, and an alarm that is soon due."""
    (folder / "mine.py").write_text(MINE)
    return subprocess.Popen(
        [sys.executable, "-c", QUICK.format(patience_s=patience_s) + body],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def exploring(name: str, folder: Path, patience_s: float = 1.0) -> subprocess.Popen[str]:
    """Start `omni-ipc explore mine.py:NAME`."""
    body = f"sys.argv = ['omni-ipc', 'explore', 'mine.py:{name}']; from omni_ipc.cli import main; main()"
    return command(body, folder, patience_s)


@pytest.mark.parametrize("name", ["held", "released"])
def test_a_step_that_blocks_in_c_is_ended_and_told(name: str, tmp_path: Path) -> None:
    """With the interpreter's lock or without it: file and line, exit code 3, and no process is left."""
    with exploring(name, tmp_path) as explorer:
        _, said = explorer.communicate(timeout=GENEROUS_S)
    assert explorer.returncode == 3
    assert said.startswith("omni-ipc: A step has blocked in C code for 1 s, at mine.py:16 in lock_twice, ")
    assert said.count("\n") == 1


def test_a_step_that_goes_on_in_time_is_not_ended(tmp_path: Path) -> None:
    """Nor is a process that was stopped for a while: who goes on shows it, and the alarm is off."""
    with exploring("late", tmp_path, patience_s=4.0) as explorer:
        out, said = explorer.communicate(timeout=GENEROUS_S)
    assert (explorer.returncode, said) == (0, "")
    assert "mine.py:late: holds" in out


def test_a_crash_in_c_is_told(tmp_path: Path) -> None:
    """By the name of the signal; nothing was concluded."""
    with exploring("crash", tmp_path) as explorer:
        _, said = explorer.communicate(timeout=GENEROUS_S)
    assert explorer.returncode == 3
    assert said.startswith("omni-ipc: The process that ran the scenario was ended by SIGSEGV: nothing was concluded.")


def test_nothing_goes_on_when_the_one_that_watches_is_killed(tmp_path: Path) -> None:
    """Its child ends with it: the pipes that both hold are closed."""
    with exploring("endless", tmp_path, patience_s=60.0) as explorer:
        child = await_child(explorer.pid)
        explorer.kill()
        explorer.communicate(timeout=GENEROUS_S)
    assert explorer.returncode == -signal.SIGKILL
    assert child > 0


def test_ctrl_z_stops_both_and_both_go_on(tmp_path: Path) -> None:
    """The signal reaches the one that watches, and is passed on, as is what follows when it is continued."""
    with exploring("late", tmp_path, patience_s=60.0) as explorer:
        child = await_child(explorer.pid)
        explorer.send_signal(signal.SIGTSTP)
        while any(state(pid) != "T" for pid in (explorer.pid, child)):
            assert explorer.poll() is None
        explorer.send_signal(signal.SIGCONT)
        out, said = explorer.communicate(timeout=GENEROUS_S)
    assert (explorer.returncode, said) == (0, "")
    assert "mine.py:late: holds" in out


def state(pid: int) -> str:
    """Return the letter that the kernel gives to the state of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def await_child(pid: int) -> int:
    """Return the only child of a process, once there is one."""
    while True:
        if found := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            return int(found[0])


@pytest.mark.parametrize(
    "body",
    [
        "from mine import held; from omni_ipc.testbed import explore; explore(held)",
        "import pytest; pytest.main(['-q', '-p', 'omni_ipc.pytest_plugin', '-p', 'no:cacheprovider', 'mine.py'])",
    ],
    ids=["library", "pytest"],
)
def test_elsewhere_it_is_told_on_standard_error_where_code_blocks(body: str, tmp_path: Path) -> None:
    """Whoever waits can see the file and the line, also where pytest captures what tests say."""
    with command(body, tmp_path) as program:
        assert program.stderr is not None
        said = []
        for line in program.stderr:
            said.append(line)
            if "in lock_twice" in line:
                break
        program.kill()
    assert said[-1].endswith('mine.py", line 16 in lock_twice\n')


def test_nothing_of_the_alarm_stays_after_an_exploration(tmp_path: Path) -> None:
    """It does not go off when there is nothing left to watch."""
    body = (
        "from mine import beside; from omni_ipc.testbed import explore; import ctypes\n"
        "print(explore(lambda: beside(len, '')).verdict)\n"
        "ctypes.PyDLL(None).sleep(3)"
    )
    with command(body, tmp_path, patience_s=2.5) as program:
        out, said = program.communicate(timeout=GENEROUS_S)
    assert (out, said, program.returncode) == ("holds\n", "", 0)
