"""A soak that gets on is left alone, and one that does not is noticed once; the busier the machine, the later."""

from __future__ import annotations

import os

import pytest

from omni_ipc.stress.stalls import STALLED_S, Progress, patience


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine be idle, whatever else runs on it."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))


def test_nothing_is_said_while_something_ends_now_and_then() -> None:
    """However long all of it takes."""
    progress = Progress(0.0)
    looks = [progress.look(0.9 * STALLED_S * count, ended=count, unsettled=5) for count in range(1, 9)]
    assert looks == [None] * 8


def test_what_is_open_and_does_not_end_is_told_once() -> None:
    """For how long; and once more when something has ended meanwhile, and then nothing again."""
    progress = Progress(0.0)
    assert progress.look(0.0, ended=7, unsettled=3) is None
    assert progress.look(STALLED_S - 1, ended=7, unsettled=3) is None
    assert progress.look(STALLED_S + 1, ended=7, unsettled=3) == STALLED_S + 1
    assert progress.look(STALLED_S + 2, ended=7, unsettled=3) is None
    assert progress.look(100.0, ended=8, unsettled=2) is None
    assert progress.look(100.0 + STALLED_S, ended=8, unsettled=2) == STALLED_S


@pytest.mark.parametrize("unsettled", [0, -1])
def test_where_nothing_is_open_nothing_is_missed(unsettled: int) -> None:
    """As between two rounds; what is asked then has all its time."""
    progress = Progress(0.0)
    assert progress.look(10 * STALLED_S, ended=0, unsettled=unsettled) is None
    assert progress.look(11 * STALLED_S - 1, ended=0, unsettled=4) is None
    assert progress.look(11 * STALLED_S, ended=0, unsettled=4) == STALLED_S


def test_on_a_busy_machine_everything_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """By as much as there are more tasks than cores, up to a bound; an idle one makes nothing faster."""
    cores = len(os.sched_getaffinity(0))
    assert patience(30.0) == 30.0
    monkeypatch.setattr(os, "getloadavg", lambda: (2.0 * cores, 0.0, 0.0))
    assert patience(30.0) == 60.0
    progress = Progress(0.0)
    assert progress.look(1.9 * STALLED_S, ended=0, unsettled=1) is None
    assert progress.look(2.1 * STALLED_S, ended=0, unsettled=1) == pytest.approx(2.1 * STALLED_S)
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0 * cores, 0.0, 0.0))
    assert patience(STALLED_S) < 60.0, "after that requests time out, and nothing stalls any more"


def test_where_the_machine_does_not_tell_how_busy_it_is_times_are_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some containers hide it."""

    def hidden() -> tuple[float, float, float]:
        raise OSError("no load average")

    monkeypatch.setattr(os, "getloadavg", hidden)
    assert patience(7.0) == 7.0
