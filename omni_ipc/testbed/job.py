"""One process of an exploration by several: ``python -m omni_ipc.testbed.job``, which `jobs` starts.

What to explore comes on standard input; progress and the report go to standard output, and what the scenario prints to
standard error.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.interrupts import as_ctrl_c
from omni_ipc.testbed.explorer import conduct
from omni_ipc.testbed.jobs import Order
from omni_ipc.testbed.loading import load
from omni_ipc.testbed.merging import News, Share
from omni_ipc.testbed.outside import go_on_watched
from omni_ipc.testbed.search import Search
from omni_ipc.testbed.strategies import SharedDpor
from omni_ipc.testbed.tally import Progress


class _Mouth:
    """Says a line at a time to the parent."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)

    def say(self, news: News) -> None:
        try:
            self._out.write(msgspec.json.encode(news) + b"\n")
        except BrokenPipeError:  # the parent was killed, and nobody is left to hear
            os._exit(1)

    def tell(self, progress: Progress) -> None:
        self.say(News(progress.schedules, progress.steps, progress.left))


def main() -> None:
    """Explore, and report; end quietly when the parent, by SIGTERM, asks for that."""
    go_on_watched()
    try:
        signal.signal(signal.SIGTERM, as_ctrl_c)
        _explore(_Mouth())
    except KeyboardInterrupt:
        sys.exit(130)


def _explore(mouth: _Mouth) -> None:
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    sys.path[:] = order.path
    try:
        scenario = load(order.scenario)
        if order.arguments:
            scenario = scenario(*order.arguments)[0]
        resume = None if order.resume is None else Path(order.resume)
        search, report = conduct(scenario, order.options, points=order.points, resume=resume, progress=mouth.tell)
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
    if not isinstance(strategy, SharedDpor):
        return None
    return Share(strategy.summary(), strategy.whole, search.runner.points())


if __name__ == "__main__":
    main()
