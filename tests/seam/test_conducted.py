"""The conducted runtime without its conductor: whatever becomes of the connection, nobody hangs."""

from __future__ import annotations

import socket

import pytest

from omni_ipc.seam.conducted import ConductedRuntime

VOCABULARY = [("one", "Task.Step")]


@pytest.mark.parametrize("when", ["before", "while waiting"])
def test_a_task_runs_free_when_the_conductor_is_gone(when: str) -> None:
    """The connection breaks before the task arrives, or while it waits for its turn: the step is taken all the same."""
    ours, theirs = socket.socketpair()
    rt = ConductedRuntime(theirs, VOCABULARY)
    taken: list[str] = []

    def body() -> None:
        with rt.region("Task.Step"):
            taken.append(when)

    if when == "before":
        ours.close()
    task = rt.spawn(body, name="one")
    if when == "while waiting":
        assert b'"Arrive"' in ours.recv(4096)
        ours.close()
    task.join(timeout=10)
    assert taken == [when]
    rt.close()


def test_an_error_inside_a_conducted_region_gives_back_the_lock_and_the_turn() -> None:
    """The error passes through, the lock is free, and the conductor hears that the step is over."""
    ours, theirs = socket.socketpair()
    rt = ConductedRuntime(theirs, VOCABULARY)
    lock = rt.lock()
    errors: list[BaseException] = []

    def body() -> None:
        try:
            with rt.region("Task.Step", lock):
                raise KeyError("b")
        except KeyError as error:
            errors.append(error)

    task = rt.spawn(body, name="one")
    assert b'"Arrive"' in ours.recv(4096)
    ours.sendall(b'{"type":"Go","ticket":0}\n')
    assert b'"Done"' in ours.recv(4096)
    task.join(timeout=10)
    assert len(errors) == 1
    assert lock.acquire(blocking=False)
    rt.close()
    ours.close()


def test_a_turn_that_comes_when_all_are_free_is_nobodys() -> None:
    """The conductor may let a step go while the runtime leaves: that is no error, and the listener ends as usual."""
    ours, theirs = socket.socketpair()
    rt = ConductedRuntime(theirs, VOCABULARY)
    taken: list[str] = []

    def body() -> None:
        with rt.region("Task.Step"):
            taken.append("step")

    task = rt.spawn(body, name="one")
    assert b'"Arrive"' in ours.recv(4096)
    ours.sendall(b'{"type":"Free"}\n{"type":"Go","ticket":0}\n')
    task.join(timeout=10)
    assert taken == ["step"]
    rt.close()
    ours.close()


def test_a_wait_without_time_lets_others_have_the_lock_once() -> None:
    """As `threading.Condition` does: it looks, waits for nothing, and looks again; without the lock it is refused."""
    ours, theirs = socket.socketpair()
    rt = ConductedRuntime(theirs, VOCABULARY)
    condition = rt.condition()
    looks: list[int] = []
    with condition:
        assert not condition.wait_for(lambda: looks.append(1), timeout=0)
        assert not condition.wait(timeout=0)
    assert len(looks) == 2
    with pytest.raises(RuntimeError, match="un-acquired"):
        condition.wait_for(lambda: False, timeout=0)
    rt.close()
    ours.close()
