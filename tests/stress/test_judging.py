"""Whether a request may end as it did: by what was done to it, and what happened meanwhile."""

from __future__ import annotations

import time

import pytest

from omni_ipc.errors import OmniError, PeerFailed, ShutdownError, Timeout
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Aborted
from omni_ipc.stress.judging import Circumstances, Moment
from omni_ipc.stress.load import Ask, Way

ASLEEP = PeerFailed("The worker failed: The pipeline sleeps at level 1. Wake it first.")
BRIEF_S, LONG_S = 0.25, 60.0


def ask(trouble: str = "") -> Ask:
    return Ask(Request("r", options={"trouble": trouble}), 100, Way.AWAIT, 0.0)


def test_an_abort_is_due_behind_an_abort_of_its_id() -> None:
    """One of before was another request's of the same id."""
    these = Circumstances(LONG_S)
    these.aborting("r")
    since = these.now("r")
    assert not these.is_due(ask(), since, Aborted("gone"))
    these.aborting("other")
    assert not these.is_due(ask(), since, Aborted("gone"))
    these.aborting("r")
    assert these.is_due(ask(), since, Aborted("gone"))


@pytest.mark.parametrize(
    ("timeout_s", "waited_s", "due"),
    [(BRIEF_S, 0.9 * BRIEF_S, False), (BRIEF_S, BRIEF_S, True), (LONG_S, LONG_S, False), (LONG_S, 10 * LONG_S, False)],
)
def test_only_a_short_timeout_is_ever_due(timeout_s: float, waited_s: float, due: bool) -> None:
    """And that not before its time; whoever waits for a long one waits for something that hangs."""
    since = Moment(time.monotonic() - waited_s, 0, 0)
    assert Circumstances(timeout_s).is_due(ask(), since, Timeout("too late")) is due


def test_a_shutdown_is_due_once_it_has_begun() -> None:
    """Not because somebody says so."""
    these = Circumstances(LONG_S)
    since = these.now("r")
    assert not these.is_due(ask(), since, ShutdownError("over"))
    these.stopping = True
    assert these.is_due(ask(), since, ShutdownError("over"))


@pytest.mark.parametrize(
    ("trouble", "error", "due"),
    [
        ("raise", PeerFailed("RuntimeError: request 'r' was to fail"), True),
        ("unfit", PeerFailed("UsageError: an object, which cannot travel"), True),
        ("raise", PeerFailed("MemoryError: no room"), False),
        ("", PeerFailed("RuntimeError: request 'r' was to fail"), False),
    ],
)
def test_trouble_is_due_to_who_asked_for_it(trouble: str, error: OmniError, due: bool) -> None:
    """As the error that it was to be, and no other."""
    these = Circumstances(LONG_S)
    assert these.is_due(ask(trouble), these.now("r"), error) is due


def test_a_sleeping_pipeline_is_due_to_who_may_have_met_it() -> None:
    """Who was there when it went to sleep, or came while it slept; not who came when it had been woken."""
    these = Circumstances(LONG_S)
    before = these.now("r")
    assert not these.is_due(ask(), before, ASLEEP)
    these.sleeping(True)
    meanwhile = these.now("r")
    assert these.is_due(ask(), meanwhile, ASLEEP)
    these.sleeping(False)
    after = these.now("r")
    assert [these.is_due(ask(), since, ASLEEP) for since in (before, meanwhile, after)] == [True, True, False]
    assert not these.is_due(ask(), before, PeerFailed("MemoryError: no room"))
