"""Ctrl-C at whatever moment: one sentence and exit code 3, or, if it came too late, the whole of what there is to tell.

The moments are spread over the time that a command takes when nobody interrupts it. `make soak` takes many more, by
lot.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from omni_ipc.records import Trace
from tests.pytest_plugin.session import interrupted_session
from tests.support.commands import ROOT, Command, Ended

SCENARIOS = """
import asyncio
import threading


class Account:
    def __init__(self):
        self.balance = 0
        self.lock = threading.Lock()

    def deposit(self):
        try:
            balance = self.balance
            self.balance = balance + 1
        except BaseException:  # whoever is interrupted here is not to take it for an error of their own
            pass

    def deposit_under_lock(self):
        with self.lock:
            self.deposit()


def run(function):
    threads = [threading.Thread(target=function) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def lost():
    account = Account()
    run(lambda: [account.deposit() for _ in range(5)])
    assert account.balance == 15


def kept():
    account = Account()
    run(account.deposit_under_lock)
    assert account.balance == 3


def in_a_loop():
    async def main():
        account = Account()
        await asyncio.gather(*[asyncio.to_thread(account.deposit) for _ in range(3)])
        return account.balance

    assert asyncio.run(main()) == 3
"""
TESTS = f"""{SCENARIOS}

import pytest

test_kept = pytest.mark.interleave(strategy="sampling", runs=200)(kept)
test_lost = pytest.mark.interleave(lost)
test_in_a_loop = pytest.mark.interleave(in_a_loop)
"""
COMMANDS = (
    "explore mine.py:lost --fresh",
    "explore mine.py:in_a_loop --save traces",
    "explore mine.py:kept --strategy sampling --runs 300 --resume state",
    "explore mine.py:kept --strategy sampling --runs 600 --jobs 2 --resume state",
    "replay mine.trace.json",
    "show mine.trace.json --html page.html --perfetto events.json",
)
SENTENCE = re.compile(
    r"omni-ipc: Interrupted: nothing was concluded"
    r"(, and nothing is left behind|\. 'state' holds the exploration: the same command goes on with it)\.\n"
)
MADE = ("state", "traces", ".omni_ipc", "page.html", "events.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with scenarios, and a trace of one."""
    (tmp_path / "mine.py").write_text(SCENARIOS)
    with Command("explore", "mine.py:lost", "--save", "saved", cwd=tmp_path) as command:
        assert command.end().code == 1
    shutil.move(tmp_path / "saved" / "mine.lost.trace.json", tmp_path / "mine.trace.json")
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_ends_in_one_sentence_or_whole(words: str, folder: Path) -> None:
    """At its very beginning, in the middle, and near its end."""
    attack(words, folder, (0.0, 0.5, 0.9))


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_ends_in_one_sentence_or_whole_at_any_moment(words: str, folder: Path) -> None:
    """At moments drawn by lot; the seed is told."""
    seed = random.randrange(1_000_000)
    print("seed", seed)
    drawn = random.Random(seed)
    attack(words, folder, [drawn.uniform(0, 1.05) for _ in range(100)])


@pytest.mark.parametrize(
    ("lines", "code", "told"),
    [
        (
            (
                "from omni_ipc.cli.ending import end",
                "from omni_ipc.cli.interrupts import defer, leave",
                "defer()",
                "leave(end(lambda: exec('raise KeyboardInterrupt')))",
            ),
            3,
            SENTENCE,
        ),
        (
            (
                "from omni_ipc.machines.child import stoppable",
                "with stoppable():",
                "    exec('raise KeyboardInterrupt')",
            ),
            130,
            re.compile(""),
        ),
    ],
    ids=["a command", "a job"],
)
def test_a_ctrl_c_that_went_through_c_has_the_same_exit_code(
    lines: Sequence[str], code: int, told: re.Pattern[str], tmp_path: Path
) -> None:
    """Where C runs source, as in the import of torch, Python notes it, and would end by SIGINT behind the last word."""
    (tmp_path / "interrupted.py").write_text("\n".join(lines))
    ended = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, bool(told.fullmatch(ended.stderr))) == (code, True), ended


@pytest.mark.parametrize("extra", ["", "--omni-replay lost.trace.json"])
def test_pytest_ends_as_it_does_on_ctrl_c(extra: str, folder: Path) -> None:
    """By its own words and exit code; what it was at is no error of anybody."""
    attack_pytest(extra, folder, (0.0, 0.4))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_pytest_ends_as_it_does_on_ctrl_c_at_any_moment(folder: Path) -> None:
    """At moments drawn by lot; the seed is told."""
    seed = random.randrange(1_000_000)
    print("seed", seed)
    drawn = random.Random(seed)
    attack_pytest("", folder, [drawn.random() for _ in range(100)])


def attack(words: str, folder: Path, moments: Sequence[float]) -> None:
    """Interrupt a command at moments, each a part of the time that it takes, and judge how it ended."""
    whole, seconds = _run(words, folder, None)
    for moment in moments:
        ended, _ = _run(words, folder, moment * seconds)
        left = {path.name for path in folder.rglob("*") if set(MADE) & {*path.parts, path.name}}
        assert (ended.survivors, ended.litter) == ([], []), moment
        if moment == 0 or ended.code == 3:
            assert (ended.code, ended.out) == (3, ""), moment
            assert SENTENCE.fullmatch(ended.err), (moment, ended.err)
            assert all(name == "state" or re.fullmatch(r"exploration\.\d-of-\d\.json", name) for name in left), left
        else:
            assert (ended.code, _constant(ended.out), ended.err) == (whole.code, _constant(whole.out), ""), moment


def attack_pytest(extra: str, folder: Path, moments: Sequence[float]) -> None:
    """Interrupt pytest at moments, each a part of the time that it takes behind its collection."""
    (folder / "test_mine.py").write_text(TESTS)
    words = ["test_mine.py", "-p", "no:cacheprovider", *extra.split()]
    if extra:
        of_a_test = msgspec.structs.replace(Trace.load(folder / "mine.trace.json"), scenario="test_mine.py::test_lost")
        of_a_test.save(folder / "lost.trace.json")
    whole, seconds = interrupted_session(folder, words, None)
    for moment in moments:
        shutil.rmtree(folder / ".omni_ipc", ignore_errors=True)
        ended, _ = interrupted_session(folder, words, moment * seconds)
        assert "INTERNALERROR" not in ended.text
        assert "bug of omni-ipc" not in ended.text
        if "!!! KeyboardInterrupt !!!" in ended.text:
            assert ended.text.count("KeyboardInterrupt !!!") == 1, ended.text
            assert ended.code in (2, -signal.SIGINT)  # CPython ends so, too, if it came while a string was executed
        else:  # it came too late, and perhaps while pytest cleared up behind its last word, which ends as CPython does
            assert ended.counts == whole.counts, ended.text
            assert ended.code in (whole.code, -signal.SIGINT), ended.text
            assert "omni_ipc" not in ended.text.rpartition("=====")[2], ended.text
        assert not [path for path in (folder / ".omni_ipc").rglob(".*") if path.is_file()], "half-written"


def _run(words: str, folder: Path, after_s: float | None) -> tuple[Ended, float]:
    """Run a command, interrupted some seconds after it has begun, and tell how long it took from there."""
    for name in MADE:
        made = folder / name
        shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
    with Command(*words.split(), cwd=folder) as command:
        while not command.has_begun():
            time.sleep(0.001)
        begun = time.monotonic()
        if after_s is not None:
            command.interrupt_when(lambda: time.monotonic() - begun >= after_s, may_be_over=True)
        return command.end(), time.monotonic() - begun


def _constant(text: str) -> str:
    """Leave out what differs from run to run."""
    return re.sub(r"[\d.,]+ s\b|[\d,]+ (distinct )?(schedule|trace|step)s?(/s)?", "#", " ".join(text.split()))
