"""Runs functions under instrumentation, and tells what came of them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies.default import DefaultOrder


def beside_another_thread(function: Callable[[], object]) -> Callable[[], object]:
    """Make a scenario that runs a function while another thread lives, so that its accesses count."""

    def scenario() -> object:
        done = threading.Event()
        other = threading.Thread(target=done.wait)
        other.start()
        try:
            return function()
        finally:
            done.set()
            other.join()

    return scenario


def run(function: Callable[[], object], *modules: str, points: bool) -> object:
    """Run a function of instrumented modules, with a point at no access, or at each one."""
    with Runner(beside_another_thread(function), instrument=modules, max_steps=1_000_000) as runner:
        assert runner.instrumentation is not None
        if points:
            marked = runner.instrumentation.world.marked
            marked[:] = b"\1" * len(marked)
        done = runner.run(DefaultOrder())
    assert done.failure is None, (done.failure, done.failure and done.failure.details)
    assert not points or len(done.order) > 4, "nothing was a point"
    return done.value
