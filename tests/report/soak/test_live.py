"""A soak while it runs: what a terminal shows, and the lines that a log gets."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator

import msgspec
import pytest
from rich.console import Console

from omni_ipc.accounts import Account
from omni_ipc.report.soak.live import line, recent_rate, view, watching
from tests.support.accounts import LOST, PLAIN, account, sample

ESCAPE = "\x1b]0;taken\x07"


def shown(given: Account) -> str:
    console = Console(file=io.StringIO(), width=110)
    console.print(view(given))
    return console.file.getvalue()  # type: ignore[attr-defined]


@contextlib.contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Make standard error a terminal; give its other end, which never blocks."""
    ours, theirs = os.openpty()
    os.set_blocking(ours, False)
    with os.fdopen(theirs, "w") as stderr, monkeypatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setattr("sys.stderr", stderr)
        yield ours
    os.close(ours)


def read(terminal: int) -> str:
    """Give all that was written to a terminal so far."""
    seen = b""
    with contextlib.suppress(BlockingIOError):
        while more := os.read(terminal, 65_536):
            seen += more
    return seen.decode()


def test_the_view_has_all_that_is_known_by_now() -> None:
    """Rates, what is in use, the last fault, the spec, latencies, findings."""
    told = shown(account(findings=(LOST,), seconds=12.3))
    for part in (
        "12 s of 1 min",
        "100, 1.67/s",
        "90 result, 10 aborted",
        "engine 50 MiB, worker 0 50 MiB; 8 MiB shared",
        "3 requests, 0 slots, 40 descriptors",
        "1; the last one after 20 s: kill worker 0, next result after 1.5 s",
        "4 recordings, 900 steps of AsyncOutput",
        "1 finding",
        "outcome, after 40 s: Request r17 has no outcome.",
    ):
        assert part in told, part


def test_the_view_of_the_first_moment_is_whole() -> None:
    """Nothing was seen yet."""
    nothing = account(requests=0, outcomes={}, latencies={}, samples=(), faults=(), validations=(), seconds=0.0)
    assert "0 s of 1 min" in shown(nothing)
    assert "0 requests, 0/s, 0 faults, 0 findings" in line(nothing)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    """Of the last two looks, if these lie farther apart; none without two."""
    looks = [sample(float(second), ended=second * (1 if second < 90 else 10)) for second in range(101)]
    assert recent_rate(account(samples=tuple(looks))) == pytest.approx(10)
    assert recent_rate(PLAIN) == pytest.approx(50 / 30)
    assert recent_rate(account(samples=looks[:1])) == 0
    assert recent_rate(account(samples=(looks[5], looks[5]))) == 0


def test_a_terminal_is_drawn_anew_and_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest account is there while it runs; what it shows commands nothing, and vanishes at the end."""
    with terminal(monkeypatch) as other_end:
        with watching() as watch:
            watch(PLAIN)
            watch(account(requests=4_711, findings=(msgspec.structs.replace(LOST, message=ESCAPE),)))
            during = read(other_end)
        after = read(other_end)
    assert "4,711" in during
    assert ESCAPE not in during
    assert after.count("\x1b[2K") >= 5  # lines that are cleared


def test_elsewhere_a_line_comes_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """More often at first; a finding at once, and once, also if one of before comes after it."""
    before = msgspec.structs.replace(LOST, at_s=7.0, message="A step is not allowed.")
    with watching() as watch:
        for second in range(600):
            found = (before,) * (second >= 444) + (LOST,) * (second >= 333)
            watch(account(seconds=float(second), findings=found))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "0 s of 1 min: 100 requests, 1.67/s, 3 open, 92 MiB, 1 fault, 0 findings"
    assert lines.count("outcome, after 40 s: Request r17 has no outcome.") == 1
    assert lines.count("outcome, after 7 s: A step is not allowed.") == 1
    assert 15 <= len(lines) <= 25


def test_what_is_done_behind_its_time_is_told_when_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    """Though the time of the soak stands still then."""
    with watching() as watch:
        for left in (2, 2, 1):
            watch(account(seconds=60.0, doing=f"looking at {left} recordings"))
        watch(account(seconds=60.0))
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(", ")[2] for line in lines] == ["looking at 2 recordings", "looking at 1 recordings"]


def test_with_standard_error_closed_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing ends for it."""
    monkeypatch.setattr("sys.stderr", None)
    with watching() as watch:
        assert watch(PLAIN) is None  # type: ignore[func-returns-value]
