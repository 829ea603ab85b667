"""interleave-test, on its own Python: python -m omni_ipc.workflows.bench.explorers.interleave STRATEGY

It takes plain functions as they are. It is asked for some schedules at a time, because it takes no limit in seconds.
"""

from __future__ import annotations

import sys
import time
import warnings

import interleave_test

from omni_ipc.workflows.bench.explorers.serving import (
    BOUNDED,
    HOLDS,
    VIOLATED,
    Answer,
    Question,
    describe,
    serve,
)

_A_TIME = 5
_HANG_S = 2.0


def explore(question: Question) -> Answer:
    """Explore with the strategy that this process is for."""
    scenario, strategy = question.scenario(), sys.argv[1]
    used = interleave_test.DFSStrategy(max_preemptions=2) if strategy == "dfs" else strategy
    begun, schedules = time.monotonic(), 0
    while True:
        result = interleave_test.explore(
            scenario,
            strategy=used,
            iterations=_A_TIME,
            seed=question.seed + schedules,
            timeout=_HANG_S,
            raise_on_failure=False,
        )
        schedules += result.schedules_run
        seconds = time.monotonic() - begun
        if failure := result.failure:
            message = describe(failure.exception) if failure.exception else failure.kind
            return Answer(VIOLATED, message, schedules, seconds)
        if result.exhausted:
            return Answer(HOLDS, "exhausted, at most 2 preemptions", schedules, seconds)
        if seconds >= question.seconds:
            return Answer(BOUNDED, "", schedules, seconds)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(explore)
