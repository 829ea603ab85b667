"""Explores a scenario along orders that were seen elsewhere: of its regions, on real threads and in real processes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from omni_ipc.errors import UsageError
from omni_ipc.records import Report
from omni_ipc.testbed.budget import Budget, Subject
from omni_ipc.testbed.runner import Runner, Scenario
from omni_ipc.testbed.search import Search
from omni_ipc.testbed.strategies.guided import Guided


def explore_along(
    scenario: Scenario,
    orders: Sequence[Sequence[str]],
    *,
    name: str,
    defect: str | None = None,
    transparent: Collection[str] = (),
    declared: bool = False,
    runs: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
) -> Report:
    """Run a scenario along the orders, and then near them, until it fails or a budget is used up; see `explore`.

    Args:
        orders: actions of regions, each in the order in which they were taken, the likeliest first.

    Raises:
        UsageError: there is no order.
    """
    if not orders:
        raise UsageError("There is no order to go along. Give one, or explore without: omni-ipc explore.")
    search = Search(
        Runner(scenario, transparent=transparent, declared=declared),
        Subject(name, defect),
        lambda: Guided(seed, orders),
        Budget(runs, seconds),
    )
    with search.runner:
        return search.report()
