"""Processes that never outlive whoever started them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from omni_ipc.conformance.processes.children import Children, Ended
from omni_ipc.errors import Inconclusive

GENEROUS_S = 30.0


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for(path: Path) -> str:
    end = time.monotonic() + GENEROUS_S
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < end, f"{path} was never written"
        time.sleep(0.005)
    return path.read_text()


def wait_until_gone(*pids: int) -> None:
    end = time.monotonic() + GENEROUS_S
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < end, f"one of {pids} is still alive"
        time.sleep(0.005)


def test_output_errors_and_exit_code_are_kept(tmp_path: Path) -> None:
    """Both streams, apart from each other."""
    with Children() as children:
        ended = children.run(["sh", "-c", "echo out; echo err >&2; exit 3"], cwd=tmp_path, timeout_s=GENEROUS_S)
    assert ended == Ended("out\n", "err\n", 3, timed_out=False)


LINE_BY_LINE = """
import sys
for number in range(3):
    sys.stderr.write("x" * 200_000)
    print(number, "\u00e4" * 20_000, flush=True)
    assert open("heard").read(1), "nobody heard the line"
print("the rest", end="")
"""


def test_each_line_is_heard_while_the_command_runs(tmp_path: Path) -> None:
    """As soon as it is whole, however much of it comes at once; what it says beside it is read meanwhile."""
    os.mkfifo(tmp_path / "heard")
    heard: list[str] = []

    def hear(line: str) -> None:
        heard.append(line)
        if line != "the rest":
            (tmp_path / "heard").write_text(".")  # returns when the command, which waits for it, reads

    with Children() as children:
        ended = children.run(
            [sys.executable, "-X", "utf8", "-c", LINE_BY_LINE], cwd=tmp_path, timeout_s=GENEROUS_S, hear=hear
        )
    assert heard == [*(f"{number} {'ä' * 20_000}" for number in range(3)), "the rest"]
    assert ended == Ended("\n".join(heard), "x" * 600_000, 0, timed_out=False)


def test_who_hears_may_end_the_command(tmp_path: Path) -> None:
    """What they raise goes through, and the process is gone."""
    pids: list[int] = []

    def hear(line: str) -> None:
        pids.append(int(line))
        raise InterruptedError

    with Children() as children, pytest.raises(InterruptedError):
        children.run(["sh", "-c", "echo $$; exec sleep 60"], cwd=tmp_path, timeout_s=GENEROUS_S, hear=hear)
    wait_until_gone(*pids)
    assert len(pids) == 1


def test_a_command_that_closes_its_streams_has_no_more_time_than_others(tmp_path: Path) -> None:
    """Nothing more can come of it, and yet it runs: it is killed in the end."""
    with Children() as children:
        ended = children.run(["sh", "-c", "exec sleep 60 >&- 2>&-"], cwd=tmp_path, timeout_s=0.2)
    assert ended == Ended("", "", -9, timed_out=True)


def test_what_is_dismissed_ends_in_good_order(tmp_path: Path) -> None:
    """It removes what it has made; who does not listen is killed in the end; nothing is run behind that."""
    polite = "import signal, time; signal.signal(15, lambda *_: print('tidy') or exit(4)); "
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); "
    with Children() as children:
        ended: dict[str, Ended] = {}

        def run(name: str, program: str) -> None:
            program += f"open('{name}', 'w').write('ready\\n'); time.sleep(60)"
            ended[name] = children.run([sys.executable, "-c", program], cwd=tmp_path, timeout_s=GENEROUS_S)

        threads = [threading.Thread(target=run, args=each) for each in (("polite", polite), ("deaf", deaf))]
        for thread in threads:
            thread.start()
        for name in ("polite", "deaf"):
            wait_for(tmp_path / name)
        children.dismiss(0.2)
        with pytest.raises(Inconclusive):
            children.run(["true"], cwd=tmp_path, timeout_s=GENEROUS_S)
        threads[0].join(GENEROUS_S)
        assert ended["polite"] == Ended("tidy\n", "", 4, timed_out=False)
        assert "deaf" not in ended
    threads[1].join(GENEROUS_S)
    assert ended["deaf"].exit_code == -9


def test_a_timeout_kills_the_whole_group(tmp_path: Path) -> None:
    """The process and its own children are gone, and what was said until then is kept."""
    script = "sleep 60 & echo $$ $! > pids; echo so far; wait"
    with Children() as children:
        ended = children.run(["sh", "-c", script], cwd=tmp_path, timeout_s=0.5)
    assert ended.timed_out
    assert ended.exit_code == -9
    assert ended.output == "so far\n"
    wait_until_gone(*map(int, wait_for(tmp_path / "pids").split()))


def test_who_is_left_behind_by_a_command_that_has_ended_is_ended(tmp_path: Path) -> None:
    """It holds none of the command's streams, and stands in its group."""
    left = tmp_path / "left"
    command = ["sh", "-c", f"sleep 600 >/dev/null 2>&1 & echo $! > {left}; exit 3"]
    with Children() as children:
        ended = children.run(command, cwd=tmp_path, timeout_s=GENEROUS_S)
        assert ended.exit_code == 3
        wait_until_gone(int(left.read_text()))


def test_leaving_ends_what_other_threads_run(tmp_path: Path) -> None:
    """An error or Ctrl-C in one thread ends the process that another one waits for."""
    results: list[Ended] = []
    with Children() as children:
        command = ["sh", "-c", "echo $$ > pid; exec sleep 60"]
        thread = threading.Thread(
            target=lambda: results.append(children.run(command, cwd=tmp_path, timeout_s=60)), name="runner"
        )
        thread.start()
        pid = int(wait_for(tmp_path / "pid"))
    thread.join(GENEROUS_S)
    assert not thread.is_alive()
    assert results[0].exit_code == -9
    wait_until_gone(pid)


def test_nothing_starts_after_leaving(tmp_path: Path) -> None:
    """A thread that comes late is told so."""
    with Children() as children:
        pass
    with pytest.raises(Inconclusive, match="was ended before this run began"):
        children.run(["true"], cwd=tmp_path, timeout_s=1)


KILLED = """
import sys, threading
from pathlib import Path
from omni_ipc.conformance.processes.children import Children
with Children() as children:
    command = ["sh", "-c", "echo $$ > pid; exec sleep 600"]
    thread = threading.Thread(target=lambda: children.run(command, cwd=Path(sys.argv[1]), timeout_s=600))
    thread.start()
    thread.join()
"""


def test_what_runs_ends_with_a_starter_that_is_killed(tmp_path: Path) -> None:
    """SIGKILL lets nobody clean up: the kernel ends what was started."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)]) as starter:
        pid = int(wait_for(tmp_path / "pid"))
        assert alive(pid)
        starter.kill()
    wait_until_gone(pid)


def test_a_command_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    """As `subprocess` tells it, though another program stands before the command."""
    with Children() as children, pytest.raises(FileNotFoundError, match="no-such-command"):
        children.run(["no-such-command"], cwd=tmp_path, timeout_s=1)
