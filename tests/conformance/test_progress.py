"""How far a run of TLC has come, by what it prints: recorded from a run of minutes."""

from __future__ import annotations

import pytest

from omni_ipc.conformance.tlc.progress import Reached, Reports
from tests.conformance.conftest import RECORDED


def told(lines: list[str]) -> list[Reached]:
    """Give what is told of lines."""
    reached: list[Reached] = []
    reports = Reports(reached.append)
    for line in lines:
        reports.hear(line)
    return reached


def recorded(name: str) -> list[str]:
    return (RECORDED / f"{name}.out").read_text().splitlines()


def test_it_is_told_once_a_minute() -> None:
    """What TLC has found, what it has not looked at, and what the last minute has brought; not the first seconds."""
    reached = told(recorded("night"))
    assert reached == [Reached(612_081, 151_896, 605_495), Reached(1_294_052, 327_747, 681_971)]
    assert str(reached[-1]) == "1,294,052 distinct states, 327,747 on the queue"


@pytest.mark.parametrize("name", ["safety", "newer/deadlock"])
def test_nothing_is_told_of_a_short_run(name: str) -> None:
    """TLC reports at its end, too; of a model that is checked in a second that says nothing."""
    lines = recorded(name)
    assert any(line.startswith("Progress(") for line in lines)
    assert told(lines) == []


def test_an_hour_that_comes_twice_is_told_twice() -> None:
    """In autumn the clock is set back, and TLC goes by what it shows."""
    report = (
        "Progress(9) at 2026-10-25 {}: 9 states generated (8 s/min), 7 distinct states found (6 ds/min), "
        "5 states left on queue."
    )
    assert told([report.format(at) for at in ("02:59:40", "02:00:40", "02:01:40")]) == [Reached(7, 5, 6)] * 2
