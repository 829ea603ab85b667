"""What a run that was cut short leaves behind is not seen in a later one."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
import warnings
import weakref
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from omni_ipc.records import Verdict
from omni_ipc.seam.api import Event
from omni_ipc.testbed import ControlledRuntime, explore
from tests.testbed.loops.test_finds import holds


async def work() -> None:
    pass


class Circle:
    """Refers to itself and to a coroutine, which is nobody else's."""

    def __init__(self) -> None:
        self.parts = (self, work())


@pytest.fixture
def _no_collector() -> Iterator[None]:
    """Let only the last reference end an object."""
    gc.disable()
    yield
    gc.enable()


def told_of(main: Any) -> set[str]:
    """Explore all schedules, and list the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        holds(main)
    return {str(warning.message) for warning in caught}


@pytest.mark.usefixtures("_no_collector")
def test_coroutines_go_with_the_run_that_was_cut_short() -> None:
    """They are closed, or gone, also without a task, and wait for no collector, which comes in a later run."""
    made: list[weakref.ref[Coroutine[Any, Any, None]]] = []

    def fail(begun: Event) -> None:
        begun.wait()
        raise ValueError("the run ends wherever the others are")

    async def main(rt: ControlledRuntime) -> None:
        begun = rt.event()
        rt.spawn(fail, begun, name="failing")
        begun.set()
        made.append(weakref.ref(coroutine := work()))
        task = asyncio.create_task(coroutine)
        del coroutine
        await task

    for seed in range(20):
        report = explore(lambda rt: asyncio.run(main(rt)), strategy="random", seed=seed)
        assert report.verdict is Verdict.VIOLATED, report.reason
    assert {inspect.getcoroutinestate(left) for ref in made if (left := ref())} <= {inspect.CORO_CLOSED}


@pytest.mark.usefixtures("_no_collector")
def test_what_the_collector_finds_is_told_in_no_later_run() -> None:
    """A coroutine in a circle is of the run that left it, and that one is over when the collector comes."""

    def scenario() -> None:
        gc.collect()  # as it comes by itself, beside any allocation
        Circle()
        threading.Lock().acquire()

    assert told_of(scenario) == set()
    with pytest.warns(RuntimeWarning, match="'work' was never awaited"):  # outside of all runs, asyncio tells as ever
        gc.collect()


def test_a_coroutine_that_is_dropped_unawaited_is_told() -> None:
    """By its last reference, in the run that made it."""

    def scenario() -> None:
        work()

    assert told_of(scenario) == {"coroutine 'work' was never awaited"}
