"""What an explorer's process is asked and answers, a line of JSON each; it imports nothing that a peer may not have."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from omni_ipc.workflows.bench.priority import come_first

Scenario = Callable[[], object]

VIOLATED, HOLDS, BOUNDED, UNABLE = "violated", "holds", "bounded", "unable"
"""It found a failure; it ended by itself and found none; it was stopped; it cannot tell."""


class Answer(NamedTuple):
    """What came of one exploration.

    Args:
        message: of the failure, or why it cannot tell.
        schedules: until the failure, or the end.
        seconds: for these.
    """

    verdict: str
    message: str
    schedules: int
    seconds: float


class Question(NamedTuple):
    """What to explore.

    Args:
        module, function: the scenario.
        instrument: modules beside the scenario's own, whose shared state matters.
        seconds: to spend at most.
    """

    module: str
    function: str
    instrument: list[str]
    seconds: float
    seed: int

    def scenario(self) -> Scenario:
        """Load it."""
        return getattr(importlib.import_module(self.module), self.function)  # type: ignore[no-any-return]


def serve(explore: Callable[[Question], Answer]) -> None:
    """Answer questions until there are no more."""
    come_first()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])  # one thread goes at a time: to switch is cheapest so
    answers = os.dup(1)
    os.dup2(2, 1)  # what is printed is no answer
    os.write(answers, b"[]\n")
    for line in sys.stdin:
        begun = time.monotonic()
        try:
            answer = explore(Question(*json.loads(line)))
        except Exception as error:
            answer = Answer(UNABLE, describe(error), 0, time.monotonic() - begun)
        os.write(answers, json.dumps(answer).encode() + b"\n")


def describe(error: BaseException | None) -> str:
    """Put an exception into a line."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]
