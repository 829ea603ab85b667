"""python-socketio 5: its threaded manager keeps rooms and clients in plain dictionaries, without a lock."""

from __future__ import annotations

import itertools
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tests.thirdparty.exploring import Scenario, expect_fault, expect_hold, together

base_manager = pytest.importorskip("socketio.base_manager")
MODULE = "socketio.base_manager"


def manager() -> Any:
    """Make a manager beside a server that only numbers its clients."""
    made = base_manager.BaseManager()
    numbers = itertools.count()
    made.server = SimpleNamespace(eio=SimpleNamespace(generate_id=lambda: f"sid{next(numbers)}"))
    made.initialize()
    return made


def two_clients_connect() -> None:
    made = manager()
    together(lambda: made.connect("one", "/"), lambda: made.connect("two", "/"))


def one_connects_while_the_last_one_leaves() -> None:
    made = manager()
    sid = made.connect("one", "/")
    together(lambda: made.basic_disconnect(sid, "/"), lambda: made.connect("two", "/"))


def one_client_is_disconnected_twice() -> None:
    made = manager()
    sid = made.connect("one", "/")
    together(lambda: made.basic_disconnect(sid, "/"), lambda: made.basic_disconnect(sid, "/"))


def two_acknowledgements_are_asked_for() -> None:
    made = manager()
    sid = made.connect("one", "/")
    numbers: list[int] = []
    together(*[lambda: numbers.append(made._generate_ack_id(sid, print))] * 2)
    assert len(set(numbers)) == 2, f"both are number {numbers[0]}"


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (two_clients_connect, "KeyError: '/'"),  # one drops the list of pending clients that the other is about to use
        (one_connects_while_the_last_one_leaves, "KeyError: '/'"),  # the namespace is dropped with its last room
        (one_client_is_disconnected_twice, "KeyError: '/'"),  # asked "in", then read
        (two_acknowledgements_are_asked_for, "both are number 1"),  # each starts a counter: one callback is lost
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_manager_fails_between_threads(scenario: Scenario, message: str) -> None:
    """Each of these is what the threaded server does when requests come at the same time."""
    expect_fault(scenario, MODULE, message=message)


def test_the_manager_holds_under_a_lock() -> None:
    """With a lock around each call, clients come and go in every order."""

    def scenario() -> None:
        made, lock = manager(), threading.Lock()
        first = made.connect("one", "/")

        def leave() -> None:
            with lock:
                made.basic_disconnect(first, "/")

        def come() -> None:
            with lock:
                made.connect("two", "/")

        together(leave, come)
        assert made.sid_from_eio_sid("one", "/") is None
        assert made.is_connected(made.sid_from_eio_sid("two", "/"), "/")

    expect_hold(scenario, MODULE)


def test_walking_through_a_room_holds_while_a_client_leaves() -> None:
    """The room is copied before it is walked through: whoever stays is seen."""

    def scenario() -> int:
        made = manager()
        stays, leaves = made.connect("one", "/"), made.connect("two", "/")
        seen: list[str] = []
        together(
            lambda: seen.extend(sid for sid, _ in made.get_participants("/", None)),
            lambda: made.basic_disconnect(leaves, "/"),
        )
        assert stays in seen
        return len(seen)

    assert expect_hold(scenario, MODULE).outcomes == ("1", "2")
