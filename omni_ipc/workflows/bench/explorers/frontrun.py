"""frontrun, on its own Python: frontrun python -m omni_ipc.workflows.bench.explorers.frontrun STRATEGY

It takes a function that makes the state, one a thread, and one that judges the state. A kernel has the same three
parts, around its one call of `together`: it runs up to there to make the state, is held there while its threads are
explored, and goes on then. What starts its threads otherwise cannot be carried over.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import frontrun
import greenlet

from omni_ipc.workflows.bench.explorers.serving import (
    BOUNDED,
    HOLDS,
    UNABLE,
    VIOLATED,
    Answer,
    Question,
    Scenario,
    describe,
    serve,
)

_OPTIONS: dict[str, dict[str, Any]] = {
    "dpor": {},
    "unbounded": {"preemption_bound": None},
    "random": {"strategy": "random", "max_attempts": 100_000, "max_ops": 3_000},
}


class Held:
    """A kernel that is held at its call of `together`."""

    def __init__(self, scenario: Scenario) -> None:
        self._rest = greenlet.greenlet(scenario)
        self.bodies: tuple[Callable[[], object], ...] = self._rest.switch() or ()

    def go_on(self) -> bool:
        """Let it judge what came of its threads."""
        self._rest.switch()
        return bool(self._rest.dead)


def _together(*bodies: Callable[[], object]) -> None:
    greenlet.getcurrent().parent.switch(bodies)


def _body(number: int) -> Callable[[Held], object]:
    return lambda held: held.bodies[number]()


def explore(question: Question) -> Answer:
    """Explore with the strategy that this process is for."""
    scenario, options = question.scenario(), _OPTIONS[sys.argv[1]]
    importlib.import_module(question.module).together = _together  # type: ignore[attr-defined]
    count = len(Held(scenario).bodies)
    if not count:
        return Answer(UNABLE, "it starts its threads one by one, and judges between", 0, 0.0)
    begun, made = time.monotonic(), 0

    def set_up() -> Held:
        nonlocal made
        made += 1
        return Held(scenario)

    if options.get("strategy") == "random":
        options = options | {"seed": question.seed}
    try:
        result = frontrun.explore(
            setup=set_up,
            workers=[_body(number) for number in range(count)],
            invariant=Held.go_on,
            clock="virtual",
            total_timeout=question.seconds,
            timeout_per_run=2.0,
            deadlock_timeout=1.0,
            reproduce_on_failure=0,
            **options,
        )
    except Exception as error:  # it raises again what a thread of the code under test raised
        return Answer(VIOLATED, describe(error), made, time.monotonic() - begun)
    seconds = time.monotonic() - begun
    if result.property_holds is None:
        return Answer(UNABLE, str(result.inconclusive_reason), result.num_explored, seconds)
    if not result.property_holds:
        return Answer(VIOLATED, str(result.explanation).partition("\n")[0], result.num_explored, seconds)
    ended = seconds < question.seconds and "strategy" not in options
    return Answer(HOLDS if ended else BOUNDED, "property_holds", result.num_explored, seconds)


if __name__ == "__main__":
    serve(explore)
