"""One process of an exploration by several: ``python -m omni_ipc.testbed.job``, which `jobs` starts.

What to explore comes on standard input; progress and the report go to standard output, and what the scenario prints to
standard error.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.machines.child import Mouth, end_with_starter, read_order, stoppable
from omni_ipc.testbed.explorer import conduct
from omni_ipc.testbed.jobs import INSIDE, Order
from omni_ipc.testbed.loading import load
from omni_ipc.testbed.merging import News, Share
from omni_ipc.testbed.outside import go_on_watched
from omni_ipc.testbed.search import Search
from omni_ipc.testbed.tally import Progress


def main() -> None:
    """Explore, and report; end quietly when the parent, by SIGTERM, asks for that."""
    end_with_starter()
    go_on_watched()
    with stoppable():
        _explore(Mouth())


def _explore(mouth: Mouth) -> None:
    order = msgspec.json.decode(read_order(), type=Order)
    os.environ[INSIDE] = str(order.options.job)
    sys.path[:] = order.path or sys.path

    def tell(progress: Progress) -> None:
        mouth.say(News(progress.schedules, progress.steps, progress.left))

    try:
        scenario = load(order.scenario)
        if order.arguments:
            scenario = scenario(*order.arguments)[0]
        resume = None if order.resume is None else Path(order.resume)
        search, report = conduct(scenario, order.options, points=order.points, resume=resume, progress=tell)
    except UsageError as error:
        mouth.say(News(usage=str(error)))
        return
    mouth.say(
        News(
            schedules=report.schedules,
            steps=report.steps,
            report=report,
            signatures=tuple(search.tally.signatures),
            share=_share(search),
        )
    )


def _share(search: Search) -> Share | None:
    strategy = search.strategy
    if not strategy.is_share:
        return None
    return Share(strategy.summary(), strategy.whole, strategy.ended, strategy.cut, search.runner.points())


if __name__ == "__main__":
    main()
