"""Values, exceptions and code that do what they should not: a clear sentence each, and no traceback."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import greenlet
import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import Trace, Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.testbed.instrument import world
from omni_ipc.testbed.strategies.estimate import MANY, runs_left, told
from tests.testbed.kernels import and_join, found, is_well


class Mute(Exception):
    """Cannot say what it is, nor be shown."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Hostile:
    """Refuses whatever objects are asked."""

    def _refuse(self, *_: object) -> bool:
        raise RuntimeError("go away")

    __repr__ = __eq__ = __bool__ = __getattr__ = __hash__ = __len__ = __iter__ = _refuse  # type: ignore[assignment]


class Raised(BaseException):
    """Raises itself when it is asked for its text."""

    def __str__(self) -> str:
        raise self

    __repr__ = __str__


@pytest.mark.parametrize(("kind", "told"), [(Mute, "ValueError"), (Raised, "Raised")])
def test_an_exception_that_cannot_be_told_is_a_failure_like_any_other(kind: type[BaseException], told: str) -> None:
    """Its class is told, and what came of asking it for its text; it is replayed and shrunk."""

    def scenario(rt: ControlledRuntime) -> None:
        def fail() -> None:
            rt.event().set()
            raise kind

        and_join(rt, fail)

    assert f"{kind.__name__}, whose message cannot be shown: {told}" in str(found(scenario).failure)


@pytest.mark.parametrize("make", [Hostile, lambda: [Hostile()], lambda: _deep(100_000)])
def test_a_value_that_cannot_be_shown_is_an_outcome_all_the_same(make: Callable[[], object]) -> None:
    """It is told by its class."""
    report = explore(lambda rt: make())
    assert is_well(report), report.reason
    assert "which cannot be shown: R" in report.outcomes[0]


def _deep(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


def test_the_address_of_a_value_makes_no_outcome() -> None:
    """An object is another one in each run, and comes to the same."""
    assert explore(lambda rt: [object()]).outcomes == ("[<object object>]",)


def test_an_object_that_refuses_everything_may_be_shared() -> None:
    """Accesses to it are points, and nothing is asked of it for that."""
    hostile = Hostile()

    def scenario() -> None:
        import threading

        box: list[object] = [hostile]

        def put() -> None:
            box.append(box[0])
            box[0] = hostile

        threads = [threading.Thread(target=put) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert explore(scenario).verdict is Verdict.HOLDS


def test_a_text_that_no_encoding_knows_is_told_and_saved(tmp_path: Path) -> None:
    """A lone surrogate breaks no report and no trace."""

    def scenario(rt: ControlledRuntime) -> None:
        rt.spawn(rt.event().set, name="\u2603").join()
        raise AssertionError("\ud800 \x00 \x1b[2J")

    report = found(scenario)
    assert report.trace is not None
    loaded = Trace.load(report.trace.save(tmp_path / "it.trace.json"))
    assert loaded.steps == report.trace.steps
    assert "AssertionError" in str(loaded.failure)


async def _coroutine() -> None:
    raise AssertionError("never run")


def _generator() -> Iterator[int]:
    yield 1


async def _stream() -> AsyncIterator[int]:
    yield 1


def test_tmp(tmp_path: object) -> None:  # as in somebody's test module; pytest runs it, too
    """A test with a fixture."""
    assert tmp_path


@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [
        (_coroutine, r"'_coroutine' is asynchronous: .* asyncio\.run\(_coroutine\(\)\)"),
        (partial(_coroutine), r"'_coroutine' is asynchronous"),
        (_generator, r"'_generator' is a generator: .* list\(_generator\(\)\)"),
        (_stream, "'_stream' is an asynchronous generator"),
        (test_tmp, "'test_tmp' is a test that takes tmp_path, which all its runs would share"),
        (lambda: _coroutine(), "returned a coroutine: its body was never run"),
    ],
)
def test_a_scenario_whose_body_would_not_run_is_refused(scenario: Callable[[], object], sentence: str) -> None:
    """That is a mistake in the call, and no failure of the code under test."""
    with pytest.raises(UsageError, match=sentence):
        explore(scenario)


@pytest.mark.parametrize(
    ("use", "title"),
    [
        (lambda: greenlet.greenlet(lambda: 5).switch(), "greenlet.greenlet()"),
        (lambda: greenlet.getcurrent(), "greenlet.getcurrent()"),
        (lambda: os.close(1), "os.close()"),
        (lambda: os.dup2(0, 2), "os.dup2()"),
    ],
)
def test_what_would_pull_the_rug_from_under_the_explorer_is_named(use: Callable[[], object], title: str) -> None:
    """Before it happens."""
    report = explore(lambda rt: rt.spawn(use, name="rude").join())
    assert report.verdict is Verdict.INCONCLUSIVE
    assert f"Task 'rude' used {title} at test_hostile.py:" in report.reason


def test_a_stream_that_a_scenario_closes_stays_open(capsys: pytest.CaptureFixture[str]) -> None:
    """The report is still to be printed."""
    assert explore(lambda rt: and_join(rt, sys.stdout.close)).verdict is Verdict.HOLDS
    print("still here")
    assert capsys.readouterr().out == "still here\n"


def test_a_search_beyond_all_counting_is_estimated_as_such() -> None:
    """A hundred thousand decisions have more orders than a float can tell."""
    left = runs_left(1, [(1, 2)] * 200_000)
    assert left == MANY
    assert (told(left), told(1234.4)) == ("over 1,000,000,000,000", "about 1,234")


def test_what_threads_print_at_once_is_no_race() -> None:
    """Streams are the process's, whatever stands in for them while they are muted."""

    def scenario() -> None:
        import threading

        def say() -> None:
            print("hello", flush=True)
            sys.stderr.write("a word\n")

        threads = [threading.Thread(target=say) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert explore(scenario).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("threading", "all of 'threading' is under control as it is"),
        ("concurrent.futures", "all of 'concurrent' is under control as it is"),
        ("numpy.*", "'numpy' keeps its locks to itself"),
        ("omni_ipc.testbed.kernel", "it is a part of the testbed"),
        ("", "that names no module"),
    ],
)
def test_what_the_explorer_stands_on_is_not_instrumented(name: str, why: str) -> None:
    """It is refused before anything of it is touched."""
    with pytest.raises(UsageError, match=why):
        explore(lambda rt: None, instrument=[name])


def test_code_is_given_back_when_instrumenting_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever fails in the middle of it, functions run as they did, and no hook is left in builtins."""

    def fail(*_: object) -> None:
        raise MemoryError

    code, names = and_join.__code__, set(vars(builtins))
    monkeypatch.setattr(world, "State", fail)
    with pytest.raises(MemoryError):
        explore(lambda rt: None, instrument=["tests.testbed.kernels"])
    assert and_join.__code__ is code
    assert set(vars(builtins)) == names


def test_more_jobs_than_a_machine_can_use_are_refused() -> None:
    """Before any is started."""
    with pytest.raises(UsageError, match="jobs is 100,000, and this machine can make use of"):
        explore(and_join, jobs=100_000)


def _fails(_: ControlledRuntime) -> None:
    raise ValueError("at once")


def test_files_of_a_failure_are_named_from_the_working_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved holds no path of the machine that saved it."""
    monkeypatch.chdir(Path(__file__).parents[2])
    failure = found(_fails).failure
    assert failure is not None
    assert any('"tests/testbed/test_hostile.py"' in line for line in failure.details), failure.details


def test_a_failure_is_told_also_where_the_working_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files then keep their whole names."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    failure = found(_fails).failure
    assert failure is not None
    assert failure.message == "ValueError: at once"
    assert any(f'"{__file__}"' in line for line in failure.details), failure.details
