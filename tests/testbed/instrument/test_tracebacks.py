"""Errors of instrumented code: the same frames, lines, marks and words as ever."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable

import pytest

from tests.testbed.instrument.cases import errors
from tests.testbed.instrument.running import run

CASES = {
    name: function
    for name, function in vars(errors).items()
    if inspect.isfunction(function) and function.__module__ == errors.__name__
}


def raised_by(function: Callable[[], object]) -> list[str]:
    """Return the traceback of what a function raises, from the function on."""
    try:
        function()
    except Exception as error:
        below = error.__traceback__.tb_next if error.__traceback__ is not None else None
        return "".join(traceback.format_exception(error.with_traceback(below))).splitlines()
    return ["nothing was raised"]


@pytest.mark.parametrize("points", [False, True], ids=["noted", "points"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_traceback_is_the_same_line_by_line(case: Callable[[], object], points: bool) -> None:
    """Frames of the testbed do not show, nor do other columns."""
    expected = raised_by(case)
    assert expected[-1] != "nothing was raised"
    assert run(lambda: raised_by(case), errors.__name__, points=points) == expected
