"""Ctrl-C, put off where it would leave half of something behind; and what signals are called."""

from __future__ import annotations

import signal
import threading

import pytest

from omni_ipc.interrupts import postponed


def test_ctrl_c_is_answered_at_the_end() -> None:
    """What is inside is done whole; then the interrupt comes, once, and the handler is what it was."""
    handler = signal.getsignal(signal.SIGINT)
    done = []

    def start() -> None:
        with postponed():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("whole")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_alarm_is_answered_at_the_end_too() -> None:
    """As that of a test runner, whose test takes too long."""
    rung: list[str] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append("alarm"))
    try:
        with postponed():
            signal.raise_signal(signal.SIGALRM)
            assert rung == []
        assert rung == ["alarm"]
    finally:
        signal.signal(signal.SIGALRM, before)


def test_nothing_comes_if_nothing_came() -> None:
    """The handler is what it was, and an error from inside passes."""
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="of its own"), postponed():
        raise ValueError("of its own")
    assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_need_none_of_it() -> None:
    """Ctrl-C comes to the main thread alone, whose handler is then left as it is."""
    handler = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def start() -> None:
        with postponed():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert seen == [handler]
