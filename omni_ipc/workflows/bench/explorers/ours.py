"""Our explorer: python -m omni_ipc.workflows.bench.explorers.ours STRATEGY"""

from __future__ import annotations

import sys

from omni_ipc import testbed
from omni_ipc.records import Verdict
from omni_ipc.workflows.bench.explorers.serving import BOUNDED, HOLDS, UNABLE, VIOLATED, Answer, Question, serve

_WORDS = {Verdict.VIOLATED: VIOLATED, Verdict.HOLDS: HOLDS, Verdict.BOUNDED: BOUNDED}


def explore(question: Question) -> Answer:
    """Explore with the strategy that this process is for."""
    report = testbed.explore(
        question.scenario(),
        strategy=sys.argv[1],
        seconds=question.seconds,
        seed=question.seed,
        instrument=question.instrument,
    )
    message = str(report.failure.message if report.failure else report.reason)
    schedules = report.schedules + report.begun_anew
    return Answer(_WORDS.get(report.verdict, UNABLE), message, schedules, report.searched_s)


if __name__ == "__main__":
    serve(explore)
