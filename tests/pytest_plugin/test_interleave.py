"""Marked tests: explored, saved, replayed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.pytest_plugin.session import session

TESTS = """
import asyncio
import threading

import pytest


def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Counter:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()

    def add(self):
        self.value += 1

    def add_under_lock(self):
        with self.lock:
            self.value += 1


@pytest.mark.interleave
def test_lost():
    counter = Counter()
    run(counter.add, counter.add)
    assert counter.value == 2


@pytest.mark.interleave(strategy="dpor", require="holds")
def test_kept():
    counter = Counter()
    run(counter.add_under_lock, counter.add_under_lock)
    assert counter.value == 2


@pytest.mark.interleave(runs=3, strategy="random")
def test_sampled():
    counter = Counter()
    run(counter.add_under_lock, counter.add_under_lock)
    assert counter.value == 2


@pytest.mark.interleave
@pytest.mark.parametrize("many", [1, 2])
def test_numbers(many):
    counter = Counter()
    run(*[counter.add_under_lock] * many)
    assert counter.value == many


class TestInClass:
    seen = 0

    @pytest.mark.interleave
    def test_each_run_has_a_fresh_instance(self):
        self.seen += 1
        run(lambda: None, lambda: None)
        assert self.seen == 1


@pytest.mark.interleave
async def test_of_a_loop():
    assert await asyncio.to_thread(lambda: 7) == 7
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")
    (tmp_path / "test_races.py").write_text(TESTS)
    return tmp_path


def test_a_race_is_found_and_all_else_passes(folder: Path) -> None:
    """Classes, parameters and coroutines work; the failure is told with its steps and the command that replays it."""
    ended = session(folder)
    assert (ended.code, ended.counts) == (1, {"passed": 6, "failed": 1}), ended.text
    assert "AssertionError: assert counter.value == 2 (task main" in ended.text
    assert "\n      counter.value = 1\n" in ended.text
    assert "interleave.py" not in ended.text  # of the plugin, which is nobody's own code
    assert re.search(r"test_sampled: 3 runs of ", ended.text)
    assert re.search(r"^omni-ipc show \.omni_ipc/\S+\.trace\.json --html \S+\.html$", ended.text, re.MULTILINE)
    command = next(line for line in ended.text.splitlines() if line.startswith("pytest "))
    words = shlex.split(command)[1:]
    assert words[:2] == ["test_races.py::test_lost", "--omni-replay"]
    again = session(folder, *words)
    assert (again.code, again.counts) == (1, {"failed": 1}), again.text
    assert "assert counter.value == 2" in again.text


@pytest.mark.parametrize("columns", [80, 150])
def test_a_failure_is_as_wide_as_the_terminal(columns: int, folder: Path) -> None:
    """A wider one has room for a column a task; where that is too wide, no line of the report breaks."""
    ended = session(folder, "-k", "lost", columns=columns)
    story = ended.text[ended.text.index("•") : ended.text.index("= schedules that failed")].splitlines()[:-1]
    assert max(map(len, story)) == columns
    assert any("why another task" in line and "main" in line for line in story) == (columns == 150)


def test_what_failed_before_is_run_first(folder: Path) -> None:
    """The saved schedule fails at once; mended, the test is explored again, and passes."""
    assert session(folder, "-k", "lost").code == 1
    assert len(list((folder / ".omni_ipc" / "failures").iterdir())) == 1
    assert "a failure that was saved earlier happens again" in session(folder, "-k", "lost").text
    (folder / "test_races.py").write_text(
        TESTS.replace("self.value += 1\n\n    def", "self.add_under_lock()\n\n    def")
    )
    assert session(folder, "-k", "lost").counts == {"passed": 1}


def test_a_trace_of_another_test_is_skipped(folder: Path) -> None:
    """With --omni-replay only the test that it is of runs."""
    session(folder, "-k", "lost")
    (trace,) = (folder / ".omni_ipc" / "failures").iterdir()
    ended = session(folder, "--omni-replay", str(trace))
    assert ended.counts == {"failed": 1, "skipped": 6}, ended.text
    assert "nothing was replayed" not in ended.text


def test_a_trace_of_no_chosen_test_is_no_success(folder: Path) -> None:
    """Whoever named the wrong test, or took the mark away, is told what to call; who only lists tests is not."""
    session(folder, "-k", "lost")
    (trace,) = (folder / ".omni_ipc" / "failures").iterdir()
    chosen = ("-k", "sampled", "--omni-replay", str(trace))
    ended = session(folder, *chosen)
    assert (ended.code, ended.counts) == (4, {"skipped": 1}), ended.text
    assert f"Run: pytest test_races.py::test_lost --omni-replay {trace}" in ended.text
    assert session(folder, *chosen, "--collect-only").code == 0
    trace.write_text(trace.read_text().replace("test_races.py::test_lost", "mine.py:lost"))
    assert f"is of mine.py:lost, which is no test. Run: omni-ipc replay {trace}" in session(folder, *chosen).text


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        ("@pytest.mark.interleave\ndef test_x(tmp_path): pass", "uses the fixture tmp_path; it is run many times"),
        ("@pytest.mark.interleave(5)\ndef test_x(): pass", "takes named options only, and got (5,)"),
        ("@pytest.mark.interleave(secondes=5)\ndef test_x(): pass", "Did you mean 'seconds'?"),
        ("@pytest.mark.interleave(seconds=0)\ndef test_x(): pass", "seconds must be positive, and is 0"),
        ("@pytest.mark.interleave(strategy='dfs')\ndef test_x(): pass", "There is no strategy 'dfs'."),
        ("@pytest.mark.interleave(require='hold')\ndef test_x(): pass", "Did you mean 'holds'?"),
        (
            "@pytest.mark.interleave(instrument=['no.such'])\ndef test_x(): pass",
            "Cannot instrument 'no.such': there is",
        ),
        ("@pytest.mark.interleave\ndef test_x():\n import random\n random.random()", "inconclusive: Task 'main' used"),
        (
            "@pytest.mark.interleave(strategy='random', runs=2, require='holds')\ndef test_x():\n"
            " import threading\n thread = threading.Thread(target=print)\n thread.start()\n thread.join()",
            "bounded, and the test requires that it holds",
        ),
    ],
)
def test_a_wrong_mark_fails_the_test_with_a_sentence(test: str, sentence: str, tmp_path: Path) -> None:
    """No traceback of ours: what is wrong, and what to do."""
    (tmp_path / "test_x.py").write_text(f"import pytest\n{test}\n")
    ended = session(tmp_path, "-p", "no:cacheprovider")
    assert ended.counts == {"failed": 1}, ended.text
    assert sentence in ended.text
    assert "omni_ipc/pytest_plugin" not in ended.text


def test_it_works_with_xdist_and_a_time_limit(folder: Path) -> None:
    """Workers of xdist explore, the main process tells the commands; a limit of pytest-timeout ends what hangs."""
    pytest.importorskip("xdist", reason="pip install 'omni-ipc[dev]'")
    endless = "\n\n@pytest.mark.interleave\n@pytest.mark.timeout(1)\ndef test_endless():\n    while True: pass\n"
    (folder / "test_races.py").write_text(TESTS + endless)
    ended = session(folder, "-n", "2", "--timeout", "60", plugins=("xdist", "pytest_timeout"))
    assert ended.counts == {"passed": 6, "failed": 2}, ended.text
    assert "pytest test_races.py::test_lost --omni-replay .omni_ipc/failures/" in ended.text
    assert "Timeout" in ended.text


OF_ITS_OWN_ACCORD = """
import asyncio
import unittest

import pytest


@pytest.mark.interleave
async def test_lost_in_threads_of_a_loop():
    box = [0]

    def add():
        value = box[0]
        box[0] = value + 1

    await asyncio.gather(asyncio.to_thread(add), asyncio.to_thread(add))
    assert box[0] == 2


@pytest.mark.interleave
def test_skips():
    pytest.skip("not here")


@pytest.mark.interleave
def test_fails_as_expected():
    pytest.xfail("known")


class TestPrepared:
    def setup_method(self):
        self.ready = True

    @pytest.mark.interleave
    def test_ready(self):
        assert self.ready
"""


def test_tests_that_are_not_plain_functions_are_explored_or_refused(tmp_path: Path) -> None:
    """A coroutine's own module has points, too; who skips is skipped; what pytest would do once is refused."""
    (tmp_path / "test_own.py").write_text(OF_ITS_OWN_ACCORD)
    ended = session(tmp_path)
    assert ended.counts == {"failed": 2, "skipped": 1}, ended.text
    assert "1 xfailed" in ended.text
    assert "AssertionError" in ended.text
    assert "The class TestPrepared has setup_method(), which pytest calls once" in ended.text


IN_ONE_ORDER = """
import threading

import pytest


@pytest.mark.interleave
@pytest.mark.parametrize("leave", [pytest.skip, pytest.xfail])
def test_leaves(leave):
    seen = []
    threads = [threading.Thread(target=seen.append, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if seen == [1, 2]:
        leave("nothing to see")
    assert False
"""


def test_a_skip_in_one_order_hides_no_failure_in_another(tmp_path: Path) -> None:
    """It fails, and its failure replays; so with xfail, which is about the order that it ends."""
    (tmp_path / "test_left.py").write_text(IN_ONE_ORDER)
    ended = session(tmp_path)
    assert ended.counts == {"failed": 2}, ended.text
    traces = [*(tmp_path / ".omni_ipc" / "failures").iterdir()]
    assert len(traces) == 2
    for trace in traces:
        assert session(tmp_path, "--omni-replay", str(trace)).counts == {"failed": 1, "skipped": 1}


def test_a_marked_test_that_would_only_be_run_once_is_refused(tmp_path: Path) -> None:
    """Nobody is to take it for explored."""
    mark = "import unittest, pytest\n\n@pytest.mark.interleave\n"
    text = f"{mark}class TestOld(unittest.TestCase):\n    def test_it(self): pass\n"
    (tmp_path / "test_old.py").write_text(text)
    ended = session(tmp_path)
    assert ended.code == 4
    assert "test_old.py::TestOld::test_it is a method of a unittest.TestCase, which is run once" in ended.text


def test_a_test_without_concurrency_is_told(tmp_path: Path) -> None:
    """It fails: nothing was shown, and whoever marked it would take it for more than a test that was run."""
    (tmp_path / "test_x.py").write_text(
        "import pytest\n\n@pytest.mark.interleave\ndef test_x():\n    assert 1 + 1 == 2\n"
    )
    ended = session(tmp_path, "-p", "no:cacheprovider")
    assert ended.counts == {"failed": 1}, ended.text
    assert "inconclusive: Only one task ran, so there was nothing to interleave" in ended.text


def test_a_failure_that_cannot_be_saved_is_told_all_the_same(tmp_path: Path) -> None:
    """With what is in the way, and with no command that would replay a file that is not there."""
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / ".omni_ipc").write_text("a file where the folder would be")
    ended = session(tmp_path, "test_it.py::test_lost", "-p", "no:cacheprovider")
    assert (ended.code, ended.counts) == (1, {"failed": 1})
    assert "assert counter.value == 2" in ended.text
    assert "The failure was not saved. Cannot write '" in ended.text
    assert "--omni-replay" not in ended.text
