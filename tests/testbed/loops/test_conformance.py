"""The controlled loop does what the real one does, case by case."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import explore
from tests.testbed.kernels import is_well
from tests.testbed.loops import cases_callbacks, cases_tasks, cases_together
from tests.testbed.loops.cases import CASES

assert cases_callbacks, cases_tasks
assert cases_together


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_controlled_loop_does_what_the_real_one_does(case: Callable[[], object]) -> None:
    """Whatever the schedule, the controlled loop must give what asyncio's own loop gives."""
    expected = repr(case())
    report = explore(case, strategy="random", runs=5)
    assert is_well(report, Verdict.BOUNDED), report.reason
    assert report.outcomes == (expected,)


def test_there_are_cases_enough() -> None:
    """The suite must have at least sixty cases."""
    assert len(CASES) >= 60
