"""Resources that are registered must be released exactly once, in every schedule."""

from __future__ import annotations

import pytest

from omni_ipc.records import FailureKind, Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.testbed.faults import Kill
from tests.testbed.kernels import and_join, found


def sharing(rt: ControlledRuntime, *, careful: bool) -> None:
    """Let whoever is done last release a slot; who looks at the count without the lock may find it wrong."""
    slots = rt.resource("slot")
    lock, users = rt.lock(), rt.words(memoryview(bytearray(8)))
    users.store(0, 2)
    slots.take(7)

    def leave() -> None:
        if careful:
            with lock:
                left = users.load(0) - 1
                users.store(0, left)
        else:
            left = users.load(0) - 1
            users.store(0, left)
        if left == 0:
            slots.release(7)

    and_join(rt, leave, leave)


def test_a_slot_that_is_never_released_is_told_with_who_took_it() -> None:
    """Two see a count of two, and neither is the last."""
    failure = found(lambda rt: sharing(rt, careful=False)).failure
    assert failure is not None
    assert failure.kind is FailureKind.LEAK
    assert failure.message == "slot 7, taken by 'main', was never released"
    assert "in sharing" in str(failure.where)
    assert explore(lambda rt: sharing(rt, careful=True)).verdict is Verdict.HOLDS


def test_what_is_released_twice_fails_at_once() -> None:
    """Each closes what it finds open: both find it so."""

    def scenario(rt: ControlledRuntime, careful: bool) -> None:
        connections, closed, lock = rt.resource("connection"), rt.event(), rt.rlock()
        connections.take()

        def close() -> None:
            if not closed.is_set():
                closed.set()
                connections.release()

        def close_alone() -> None:
            with lock:
                close()

        and_join(rt, *[close_alone if careful else close] * 2)

    failure = found(lambda rt: scenario(rt, False)).failure
    assert failure is not None
    assert failure.message == "connection is released, and nobody holds it"
    assert explore(lambda rt: scenario(rt, True)).verdict is Verdict.HOLDS


def test_what_is_taken_twice_fails_at_once() -> None:
    """The same slot for two is a failure of whoever lends."""

    def scenario(rt: ControlledRuntime) -> None:
        slots = rt.resource("slot")
        with slots.held(1), slots.held(1):
            pass

    failure = explore(scenario).failure
    assert failure is not None
    assert failure.message == "slot 1 was taken by 'main', and is taken again"


@pytest.mark.parametrize("reclaims", [False, True])
def test_what_a_killed_process_held_must_be_released_by_somebody_else(reclaims: bool) -> None:
    """Its own clean-up does not count."""

    def scenario(rt: ControlledRuntime) -> None:
        leases, process = rt.resource("lease"), rt.process("worker")
        taken = rt.event()

        def work() -> None:
            with leases.held("a"):
                taken.set()

        process.spawn(work, name="worker.main").join()
        if reclaims and process.ending() == "killed by SIGKILL" and leases.is_held("a"):
            leases.release("a")

    report = explore(scenario, faults=[Kill("worker")])
    assert report.verdict is (Verdict.HOLDS if reclaims else Verdict.VIOLATED), report.reason
