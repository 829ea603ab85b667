"""The scheduler, access by access: what its lock alone keeps together, and what is read without it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from omni_ipc.errors import Full, ShutdownError
from omni_ipc.records import Verdict
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Computed, Outcome
from omni_ipc.serving.scheduler import Scheduler
from omni_ipc.testbed import ControlledRuntime, explore

A, B = Request("a"), Request("b")
OVER = ShutdownError("It is over.")
EXECUTION_S = 2.0
INSIDE = ("omni_ipc.serving.scheduler",)
REGIONS = (
    "Dispatcher.Settle", "Engine.Abort", "Engine.Admit", "Engine.CheckOpen", "Engine.Close", "Engine.Statistics",
)  # fmt: skip


class Dropped(list[str]):
    """Outputs that were given up."""

    def drop(self, output: str) -> None:
        self.append(output)


class World:
    """A scheduler, and what it gave up."""

    def __init__(self, rt: ControlledRuntime) -> None:
        self.rt, self.dropped = rt, Dropped()
        outputs = self.dropped
        self.scheduler = Scheduler(rt=rt, outputs=outputs, max_batch=2, max_waiting=3)  # type: ignore[arg-type]

    def beside(self, one: Callable[[], object], other: Callable[[], object]) -> None:
        """Do one in a task of its own, and the other meanwhile."""
        task = self.rt.spawn(one, name="beside")
        other()
        task.join()


def explored(scenario: Callable[[World], object]) -> set[str]:
    """Run it in many orders of all that the scheduler does; none fails."""

    def whole(rt: ControlledRuntime) -> object:
        return scenario(World(rt))

    report = explore(whole, instrument=INSIDE, transparent=REGIONS, runs=200)
    assert report.failure is None, report.failure
    assert report.verdict in (Verdict.HOLDS, Verdict.BOUNDED), report.reason
    return set(report.outcomes)


def test_statistics_see_a_batch_as_a_whole() -> None:
    """How many there were, and how long they took."""

    def scenario(world: World) -> tuple[int, float]:
        seen: list[tuple[int, float]] = []

        def look() -> None:
            statistics = world.scheduler.statistics()
            seen.append((statistics.batches, statistics.execution_s))

        world.beside(lambda: world.scheduler.settle((), batch_s=EXECUTION_S), look)
        return seen[0]

    assert explored(scenario) == {"(0, 0.0)", str((1, EXECUTION_S))}


def test_an_output_that_is_computed_while_its_request_is_aborted_is_given_up_once() -> None:
    """Whichever comes first; its sibling has its output."""

    def scenario(world: World) -> list[str]:
        batch = [world.scheduler.admit(request) for request in (A, B)]
        world.scheduler.next_batch(look_s=1.0)
        done = [(each, Computed(each.request.id, None, EXECUTION_S, {})) for each in batch]
        world.beside(lambda: world.scheduler.settle(done), lambda: world.scheduler.abort("a"))
        assert batch[1].computed.result(0).output == "b"
        assert batch[0].outcome is Outcome.ABORTED
        return world.dropped

    assert explored(scenario) == {"['a']"}


def test_two_streams_that_were_deleted_end_at_the_next_look() -> None:
    """Both, with nobody but that look to notice them."""

    def scenario(world: World) -> int:
        admissions = [world.scheduler.admit(request) for request in (A, B)]
        world.beside(lambda: world.scheduler.desert(admissions[0]), lambda: world.scheduler.desert(admissions[1]))
        return world.scheduler.statistics().open

    assert explored(scenario) == {"0"}


@pytest.mark.parametrize("other", [Scheduler.statistics, lambda scheduler: scheduler.admit(B)], ids=["look", "admit"])
def test_a_stream_that_was_deleted_ends_once(other: Callable[[Scheduler], object]) -> None:
    """Whoever closes, admits or counts at once with another one: one of them ends it, for that reason."""

    def scenario(world: World) -> int:
        deserted = world.scheduler.admit(A)
        world.scheduler.next_batch(look_s=1.0)
        world.scheduler.desert(deserted)

        def look() -> None:
            with contextlib.suppress(ShutdownError, Full):
                other(world.scheduler)

        world.beside(look, lambda: world.scheduler.close(OVER))
        return world.scheduler.statistics().ended[Outcome.ABORTED]

    assert explored(scenario) == {"1"}


def test_a_client_that_asks_whether_it_is_closed_looks_with_the_lock_held() -> None:
    """It is told, or it comes before the end."""

    def scenario(world: World) -> bool:
        told: list[bool] = []

        def ask() -> None:
            try:
                world.scheduler.check_open()
            except ShutdownError:
                told.append(True)

        world.beside(ask, lambda: world.scheduler.close(OVER))
        return bool(told)

    assert explored(scenario) == {"True", "False"}
