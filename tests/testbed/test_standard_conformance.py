"""What the look-alikes do is what the standard library does: each case runs on both, and comes to the same."""

from __future__ import annotations

import logging
import re

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from tests.testbed.conformance import CASES, Case
from tests.testbed.kernels import is_well

_SCHEDULES = 6  # of each kind


def outcome(case: Case) -> str:
    """Put into words what came of a case; without addresses, and what only a representation tells."""
    try:
        text = f"returned {case()!r}"
    except Exception as error:
        text = f"raised {type(error).__name__}: {error}"
    return re.sub(r"<[^<>]* at 0x[0-9a-f]+[^<>]*>|<(?:future|lock)\d+[^<>]*>", "<...>", text)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_look_alike_does_what_the_original_does(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """The same result, or an exception of the same class with the same message, whoever goes first."""
    caplog.set_level(logging.CRITICAL + 1)
    case = CASES[name]
    original = outcome(case)

    def scenario(rt: ControlledRuntime) -> str:
        return outcome(case)

    for strategy in ("depth-first", "random"):
        report = explore(scenario, strategy=strategy, runs=_SCHEDULES, declared=True)
        assert is_well(report) or is_well(report, Verdict.BOUNDED), report.reason
        assert report.outcomes == (repr(original),)


def test_there_are_enough_cases() -> None:
    """No module of cases is left out."""
    assert len(CASES) > 150
    assert len({name.partition(".")[0] for name in CASES}) == 7
