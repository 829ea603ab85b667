"""What differential tests have in common: the seeds of the programs that they drew stand in pytest's summary."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Tell = Callable[[range, int], None]
"""Takes the seeds that were drawn, and how many of their programs were small enough to be compared."""

_SEEDS = "seeds"


@pytest.fixture
def tell_seeds(record_property: Callable[[str, object], None]) -> Tell:
    """Give what tells which programs a test has compared."""
    return lambda seeds, compared: record_property(_SEEDS, [min(seeds), max(seeds), len(seeds), compared])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say for each differential test, its parts together, which seeds it has drawn."""
    drawn: dict[str, list[list[int]]] = {}
    for report in terminalreporter.stats.get("passed", ()):
        for name, value in getattr(report, "user_properties", ()):
            if name == _SEEDS:
                drawn.setdefault(report.nodeid.partition("[")[0], []).append(value)
    if drawn:
        terminalreporter.section("random programs that were held against brute force")
    for test, parts in drawn.items():
        first, last = min(part[0] for part in parts), max(part[1] for part in parts)
        number, compared = sum(part[2] for part in parts), sum(part[3] for part in parts)
        terminalreporter.line(f"{test}: {compared:,} of {number:,} programs, seeds {first} to {last}")
